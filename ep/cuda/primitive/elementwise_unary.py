"""ElementwiseUnary on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import ELEMENTWISE_UNARY
from ep.cuda.device.stream import check_stream
from ep.cuda.launch.known import launched
from ep.cuda.primitive.op_primitive import OpPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.elementwise_unary import ElementwiseUnary, ElementwiseUnaryFactory
from ep.include.primitive.implements import implements
from ep.include.stream import Stream


@implements(ElementwiseUnaryFactory, on=DeviceType.kCUDA, keys=ELEMENTWISE_UNARY)
class ElementwiseUnaryImpl(OpPrimitive, ElementwiseUnary):
    signature = signatures.ELEMENTWISE_UNARY

    @launched
    def Launch(self, stream: Stream, src: Any, dst: Any, count: int) -> None:
        self._launch_flat(check_stream(stream), count, src, dst)
