"""Cast on the CPU: the ElementwiseUnary of kCast."""

from __future__ import annotations

from ep.common.primitive.keys import CAST
from ep.cpu.primitive.elementwise_unary import CpuUnary
from ep.include.device_type import DeviceType
from ep.include.primitive.cast import Cast, CastFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory


class CastImpl(CpuUnary, Cast):
    pass


@register_primitive_factory(DeviceType.kCPU, CastFactory)
class CastFactoryImpl(CastFactory):
    keys = CAST

    def Make(self, request: Request) -> Cast:
        return CastImpl(request)
