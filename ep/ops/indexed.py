"""Kernels that read or write rows by indices: those of gather and of its gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.gather_view import gather_view
from ep.include.arrays import RESULT, Array, Arrays, Placeholder
from ep.include.data_type import as_data_type
from ep.ops.declare.operator import Attributes
from ep.ops.indices import resolved
from ep.ops.kernels import Launches, OneLaunch, PreparedKernel, Subject


class IndexedKernel(PreparedKernel):
    """A kernel with indices, and a primitive for each type that resolved indices may have.

    The operator has an array and indices for inputs, and the attributes that `gather` resolves.
    """

    exists: Any

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._primitives = {subject.data_types["indices"].dtype: self.exists.make(subject)}

    def prepare(self, shapes: Sequence[Dims], attributes: Attributes) -> Launches:
        batch_dims, size, mode, offset = (attributes[name] for name in ("batch_dims", "size", "mode", "offset"))
        sizes = self.sizes(gather_view(self.params_shape(shapes, attributes), attributes["axis"], batch_dims))
        num_indices = math.prod(shapes[1][batch_dims:])
        if mode in ("raise", "zero"):  # indices are read as they are
            primitive = self._primitive(self.subject.data_types["indices"].dtype)
            arguments = *sizes, Placeholder(0), num_indices, Placeholder(1), RESULT, offset
            return OneLaunch(primitive, *arguments, indices=(1, size) if mode == "raise" else None)

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            array, indices = inputs
            indices = resolved(arrays, indices, size, mode)
            primitive = self._primitive(indices.dtype)
            primitive.Launch(arrays.stream, *sizes, array, num_indices, indices, outputs[0], offset)

        return launches

    def _primitive(self, indices_dtype: np.dtype[Any]) -> Any:
        found = self._primitives.get(indices_dtype)
        if found is None:
            types = {**self.subject.data_types, "indices": as_data_type(indices_dtype)}
            found = self._primitives[indices_dtype] = self.exists.make(self.subject._replace(data_types=types))
        return found

    def params_shape(self, shapes: Sequence[Dims], attributes: Attributes) -> Dims:
        """Return the shape of the rows that indices select."""
        return shapes[0]

    @staticmethod
    def sizes(view: Any) -> Any:
        """Return the sizes of a view for Launch."""
        return view
