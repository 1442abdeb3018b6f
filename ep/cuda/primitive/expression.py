"""Expression on CUDA: the map engine, over a functor with all sources and results of a structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.cuda.device.stream import check_stream
from ep.cuda.primitive.expression_primitive import ExpressionPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.expression import Expression, ExpressionFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.primitive.unary_op import UnaryOp
from ep.include.stream import Stream


class ExpressionImpl(ExpressionPrimitive):
    """Sources may be plain numbers, too, which are words of the launch."""

    def Launch(self, stream: Stream, results: Sequence[Any], sources: Sequence[Any]) -> None:
        stream, given = check_stream(stream), (*results, *sources)
        self._expected.check_number(len(results), len(sources))
        sides, layouts = zip(*[self._side(stream, k, value) for k, value in enumerate(given)], strict=True)
        shape = self._shapes.get(layouts)
        if shape is None:
            made = self._made(layouts)
            shape = self._shapes.keep(layouts, lambda: made)
        self._check_overlaps(shape, sides)
        self._queue_sides(stream, shape, sides)


@register_primitive_factory(DeviceType.kCUDA, ExpressionFactory)
class ExpressionFactoryImpl(ExpressionFactory):
    def Select(self, request: Request) -> Expression | None:
        structure: Any = request.options["structure"]
        are_maps = all(step.op is None or isinstance(step.op, UnaryOp | BinaryOp) for step in structure.steps)
        return ExpressionImpl(request) if are_maps else None
