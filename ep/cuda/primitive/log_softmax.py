"""LogSoftmax on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import LOG_SOFTMAX
from ep.cuda.launch.known import launched
from ep.cuda.primitive.softmax_primitive import SoftmaxPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.log_softmax import LogSoftmax, LogSoftmaxFactory
from ep.include.stream import Stream


@implements(LogSoftmaxFactory, on=DeviceType.kCUDA, keys=LOG_SOFTMAX)
class LogSoftmaxImpl(SoftmaxPrimitive, LogSoftmax):
    signature = signatures.SOFTMAX
    name = "log_softmax"

    @launched
    def Launch(self, stream: Stream, rows: int, cols: int, x: Any, y: Any) -> None:
        self._launch(stream, rows, cols, x, y)
