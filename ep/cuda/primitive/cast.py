"""Cast on CUDA."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import CAST
from ep.cuda.primitive.op_primitive import OpPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.cast import Cast, CastFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.primitive.unary_op import UnaryOp


@implements(CastFactory, on=DeviceType.kCUDA, keys=CAST)
class CastImpl(OpPrimitive, Cast):
    signature = signatures.CAST

    def __init__(self, request: Request) -> None:
        super().__init__(request, UnaryOp.kCast)
