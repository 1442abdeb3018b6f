"""SoftmaxBackward on the CPU."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import SOFTMAX_BACKWARD
from ep.cpu.primitive.softmax_primitive import SoftmaxPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.softmax_backward import SoftmaxBackward, SoftmaxBackwardFactory


@implements(SoftmaxBackwardFactory, on=DeviceType.kCPU, keys=SOFTMAX_BACKWARD)
class SoftmaxBackwardImpl(SoftmaxPrimitive, SoftmaxBackward):
    signature = signatures.SOFTMAX_BACKWARD
