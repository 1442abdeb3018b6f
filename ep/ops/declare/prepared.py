"""The plan of an operator for inputs of certain shapes and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, Arrays
from ep.include.errors import ArgumentError
from ep.ops.kernels.kernel import Launches


class Prepared(NamedTuple):
    """The plan of all calls with inputs of certain shapes and dtypes on a device type, with certain attributes.

    launches: queues the work.
    names: the operator's names for arguments that errors of launches name differently.
    shapes: of the results.
    dtype: of the results.
    """

    launches: Launches
    names: Mapping[str, str]
    shapes: Sequence[Dims]
    dtype: np.dtype[Any]

    def compute(self, arrays: Arrays, inputs: Sequence[Array], out: Array | None = None) -> list[Array]:
        """Run the operator on buffers; return the results as `arrays` delivers them."""
        if out is None:
            outputs = [arrays.empty(shape, self.dtype) for shape in self.shapes]
        else:
            outputs = [arrays.destination(self.shapes[0], self.dtype, out)]
        try:
            self.launches(arrays, inputs, outputs)
        except ArgumentError as error:
            error.rename(self.names)
            raise
        return [arrays.delivered(output, out) for output in outputs]
