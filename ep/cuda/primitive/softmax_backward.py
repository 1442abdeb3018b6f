"""SoftmaxBackward on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import SOFTMAX_BACKWARD
from ep.cuda.primitive.row_primitive import RowPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.primitive.softmax_backward import SoftmaxBackward, SoftmaxBackwardFactory
from ep.include.stream import Stream


class SoftmaxBackwardImpl(RowPrimitive, SoftmaxBackward):
    signature = signatures.SOFTMAX_BACKWARD
    name = "softmax_backward"

    def Launch(self, stream: Stream, rows: int, cols: int, y: Any, dy: Any, dx: Any) -> None:
        self._launch(stream, rows, cols, y, dy, dx)


@register_primitive_factory(DeviceType.kCUDA, SoftmaxBackwardFactory)
class SoftmaxBackwardFactoryImpl(SoftmaxBackwardFactory):
    keys = SOFTMAX_BACKWARD

    def Make(self, request: Request) -> SoftmaxBackward:
        return SoftmaxBackwardImpl(request)
