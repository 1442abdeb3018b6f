"""LogSoftmax on CUDA."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import LOG_SOFTMAX
from ep.cuda.primitive.softmax_primitive import SoftmaxPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.log_softmax import LogSoftmax, LogSoftmaxFactory


@implements(LogSoftmaxFactory, on=DeviceType.kCUDA, keys=LOG_SOFTMAX)
class LogSoftmaxImpl(SoftmaxPrimitive, LogSoftmax):
    signature = signatures.SOFTMAX
    name = "log_softmax"
