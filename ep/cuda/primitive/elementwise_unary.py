"""ElementwiseUnary on CUDA."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import ELEMENTWISE_UNARY
from ep.cuda.primitive.op_primitive import OpPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.elementwise_unary import ElementwiseUnary, ElementwiseUnaryFactory
from ep.include.primitive.implements import implements


@implements(ElementwiseUnaryFactory, on=DeviceType.kCUDA, keys=ELEMENTWISE_UNARY)
class ElementwiseUnaryImpl(OpPrimitive, ElementwiseUnary):
    signature = signatures.ELEMENTWISE_UNARY
