"""SoftmaxBackward on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import SOFTMAX_BACKWARD
from ep.cuda.launch.known import launched
from ep.cuda.primitive.softmax_primitive import SoftmaxPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.softmax_backward import SoftmaxBackward, SoftmaxBackwardFactory
from ep.include.stream import Stream


@implements(SoftmaxBackwardFactory, on=DeviceType.kCUDA, keys=SOFTMAX_BACKWARD)
class SoftmaxBackwardImpl(SoftmaxPrimitive, SoftmaxBackward):
    signature = signatures.SOFTMAX_BACKWARD
    name = "softmax_backward"

    @launched
    def Launch(self, stream: Stream, rows: int, cols: int, y: Any, dy: Any, dx: Any) -> None:
        self._launch(stream, rows, cols, y, dy, dx)
