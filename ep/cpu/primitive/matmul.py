"""Matmul on the CPU: a BatchMatmul of one batch."""

from __future__ import annotations

from ep.common.primitive.keys import MATMUL
from ep.cpu.primitive.product_primitive import MatmulPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.matmul import Matmul, MatmulFactory


@implements(MatmulFactory, on=DeviceType.kCPU, keys=MATMUL)
class MatmulImpl(MatmulPrimitive, Matmul):
    pass
