"""Expression: several ops in one kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.expression_arrays import ExpressionArrays
from ep.common.primitive.strides import broadcast_strides
from ep.common.scalar import is_scalar
from ep.common.structured.kernels import StructureKernels
from ep.common.structured.primitive import StructuredPrimitive
from ep.include.primitive.expression import Expression
from ep.include.primitive.primitive import Request


class StructuredExpression(StructuredPrimitive, Expression):
    """A map, or a map with ops on rows. All arrays are contiguous; sources may be plain numbers."""

    def __init__(self, request: Request, kernels: StructureKernels) -> None:
        super().__init__(request, kernels)
        self._structure = request.options["structure"]
        self._expected = ExpressionArrays(self._structure)

    def Launch(self, stream: Any, results: Sequence[Any], sources: Sequence[Any]) -> None:
        expected, read = self._expected, self._kernels.reader(self._checked(stream))
        expected.check_number(len(results), len(sources))
        buffers, shapes, places = [], [], []
        given = zip((*results, *sources), expected.names, expected.data_types, strict=True)
        for k, (array, name, data_type) in enumerate(given):
            shape: Dims = getattr(array, "shape", (getattr(array, "size", 0),))
            if k >= len(results) and is_scalar(array):
                array, shape = self._constant(stream, array, data_type, name), ()
            count = math.prod(shape)
            buffer, address = read(array, name, data_type, count, k < len(results))
            buffers.append(buffer)
            shapes.append(shape)
            places.append((address, address + count * data_type.itemsize))
        whole, dims = expected.dims(shapes)
        expected.check_overlaps(places, lambda k, j: (places[k], shapes[k]) == (places[j], shapes[j]))
        strides = [broadcast_strides(shape, len(whole)) for shape in shapes]
        if self._structure.has_rows:
            row_dims = [size if kept == 1 else 1 for size, kept in zip(whole, dims, strict=True)]
            self._compute(stream, buffers, dims, strides, row_dims, strides)
        else:
            self._compute(stream, buffers, whole, strides)
