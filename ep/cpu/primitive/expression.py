"""Expression on the CPU: a kernel per structure and classes of strides, and a plan per shapes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ep.cpu.device.buffers import check_stream
from ep.cpu.engine.product.types import Types, multiplies_bytes
from ep.cpu.primitive.expression_primitive import ExpressionPrimitive
from ep.cpu.primitive.window_reductions import MOST_STRIDE
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.number_kind import BYTES, COMPLEXES, FLOATS
from ep.include.primitive.expression import Expression, ExpressionFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.primitive.structure import Convolution, MatrixProduct, Structure
from ep.include.stream import Stream

_WIDENED: Final = {DataType.kFloat: (DataType.kFloat, DataType.kFloat16, DataType.kBFloat16), DataType.kInt32: BYTES}
"""The types of matrices of products of some types."""
_POOLED: Final = DataType.kFloat, DataType.kDouble
"""The types of convolutions whose windows are reduced as they are computed: those that are summed in their own type."""


class ExpressionImpl(ExpressionPrimitive):
    def Launch(self, stream: Stream, results: Sequence[Any], sources: Sequence[Any]) -> None:
        arrays, plan = (*results, *sources), self._plan
        if plan is None or not self._entered(stream, plan.words, arrays):
            check_stream(stream)
            self._launch_arrays(stream, arrays, len(results))


@register_primitive_factory(DeviceType.kCPU, ExpressionFactory)
class ExpressionFactoryImpl(ExpressionFactory):
    def Select(self, request: Request) -> Expression | None:
        structure: Any = request.options["structure"]
        if structure.product is None:
            of_columns = {structure.data_type(value) for value in structure.column_sums}
            return ExpressionImpl(request) if of_columns <= {DataType.kFloat} else None
        return ExpressionImpl(request) if _multiplies(structure) and not structure.chooses else None


def _multiplies(structure: Structure) -> bool:
    """Return whether there is a product of the types of a structure's product."""
    data_type, of_operands, pool = structure.steps[0].data_type, structure.sources[:2], structure.pool
    if pool is not None:
        is_one = data_type is structure.steps[-1].data_type and isinstance(structure.product, Convolution)
        if not is_one or data_type not in _POOLED or pool.strides[-1] > MOST_STRIDE:
            return False
    widened = _WIDENED.get(data_type)
    if widened and isinstance(structure.product, MatrixProduct):
        return all(one in widened for one in of_operands)
    if data_type is DataType.kInt32 and all(one in BYTES for one in of_operands):
        # windows of bytes are read for these tiles alone
        return multiplies_bytes(Types(of_operands[0], of_operands[1], data_type))
    return data_type in (*FLOATS, *COMPLEXES) and of_operands == (data_type, data_type)
