"""LogSoftmaxBackward on the CPU."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import LOG_SOFTMAX_BACKWARD
from ep.cpu.primitive.softmax_primitive import SoftmaxPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.log_softmax_backward import LogSoftmaxBackward, LogSoftmaxBackwardFactory


@implements(LogSoftmaxBackwardFactory, on=DeviceType.kCPU, keys=LOG_SOFTMAX_BACKWARD)
class LogSoftmaxBackwardImpl(SoftmaxPrimitive, LogSoftmaxBackward):
    signature = signatures.SOFTMAX_BACKWARD
