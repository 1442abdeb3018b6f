"""Cast on the CPU: the ElementwiseUnary of kCast."""

from __future__ import annotations

from ep.common.primitive.keys import CAST
from ep.cpu.primitive.elementwise_unary import CpuUnary
from ep.include.device_type import DeviceType
from ep.include.primitive.cast import Cast, CastFactory
from ep.include.primitive.implements import implements


@implements(CastFactory, on=DeviceType.kCPU, keys=CAST)
class CastImpl(CpuUnary, Cast):
    pass
