"""Expression on the CPU: a kernel per structure and classes of strides, and a plan per shapes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.cpu.device.buffers import check_stream
from ep.cpu.primitive.expression_primitive import ExpressionPrimitive
from ep.include.device_type import DeviceType
from ep.include.number_kind import COMPLEXES, FLOATS
from ep.include.primitive.expression import Expression, ExpressionFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream


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
            return ExpressionImpl(request)
        multiplies = structure.data_type(0) in (*FLOATS, *COMPLEXES) and not structure.chooses
        return ExpressionImpl(request) if multiplies else None
