"""Softmax on CUDA."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import SOFTMAX
from ep.cuda.primitive.softmax_primitive import SoftmaxPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.softmax import Softmax, SoftmaxFactory


@implements(SoftmaxFactory, on=DeviceType.kCUDA, keys=SOFTMAX)
class SoftmaxImpl(SoftmaxPrimitive, Softmax):
    signature = signatures.SOFTMAX
    name = "softmax"
