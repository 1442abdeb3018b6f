"""Expression on CUDA: maps use the map engine; rows, and reductions of computed values, use the engine of Reduce."""

from __future__ import annotations

from ep.cuda.engine.reduce.row_program import has_row_kernel
from ep.cuda.primitive.map_expression import MapExpression
from ep.cuda.primitive.reduce_expression import ReduceExpression
from ep.cuda.primitive.row_expression import RowExpression
from ep.include.device_type import DeviceType
from ep.include.primitive.expression import Expression, ExpressionFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.primitive.structure import Structure


@register_primitive_factory(DeviceType.kCUDA, ExpressionFactory)
class ExpressionFactoryImpl(ExpressionFactory):
    def Select(self, request: Request) -> Expression | None:
        structure = request.options["structure"]
        assert isinstance(structure, Structure)
        if structure.product is not None:
            return None  # the product is cuBLASLt's
        if not structure.has_rows:
            return MapExpression(request)
        if structure.column_sums:
            return None  # of several blocks
        if structure.reduces_alone:
            return ReduceExpression(request)
        return RowExpression(request) if has_row_kernel(structure) else None
