"""Softmax on the CPU."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import SOFTMAX
from ep.cpu.primitive.softmax_primitive import SoftmaxPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.softmax import Softmax, SoftmaxFactory


@implements(SoftmaxFactory, on=DeviceType.kCPU, keys=SOFTMAX)
class SoftmaxImpl(SoftmaxPrimitive, Softmax):
    signature = signatures.SOFTMAX
