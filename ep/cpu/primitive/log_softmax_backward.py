"""LogSoftmaxBackward on the CPU."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import LOG_SOFTMAX_BACKWARD
from ep.cpu.engine.launchable import launched
from ep.cpu.primitive.rows import RowsPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.log_softmax_backward import LogSoftmaxBackward, LogSoftmaxBackwardFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream


class LogSoftmaxBackwardImpl(RowsPrimitive, LogSoftmaxBackward):
    signature = signatures.SOFTMAX_BACKWARD

    @launched
    def Launch(self, stream: Stream, rows: int, cols: int, y: Any, dy: Any, dx: Any) -> None:
        self._launch_unplanned(stream, (rows, cols), (y, dy, dx))


@register_primitive_factory(DeviceType.kCPU, LogSoftmaxBackwardFactory)
class LogSoftmaxBackwardFactoryImpl(LogSoftmaxBackwardFactory):
    keys = LOG_SOFTMAX_BACKWARD

    def Make(self, request: Request) -> LogSoftmaxBackward:
        return LogSoftmaxBackwardImpl(request)
