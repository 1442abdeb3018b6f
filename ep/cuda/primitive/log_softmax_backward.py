"""LogSoftmaxBackward on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import LOG_SOFTMAX_BACKWARD
from ep.cuda.primitive.row_primitive import RowPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.log_softmax_backward import LogSoftmaxBackward, LogSoftmaxBackwardFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream


class LogSoftmaxBackwardImpl(RowPrimitive, LogSoftmaxBackward):
    signature = signatures.SOFTMAX_BACKWARD
    name = "log_softmax_backward"

    def Launch(self, stream: Stream, rows: int, cols: int, y: Any, dy: Any, dx: Any) -> None:
        self._launch(stream, rows, cols, y, dy, dx)


@register_primitive_factory(DeviceType.kCUDA, LogSoftmaxBackwardFactory)
class LogSoftmaxBackwardFactoryImpl(LogSoftmaxBackwardFactory):
    keys = LOG_SOFTMAX_BACKWARD

    def Make(self, request: Request) -> LogSoftmaxBackward:
        return LogSoftmaxBackwardImpl(request)
