"""BatchMatmul on the CPU."""

from __future__ import annotations

from ep.common.primitive.keys import MATMUL
from ep.cpu.primitive.product_primitive import MatmulPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_matmul import BatchMatmul, BatchMatmulFactory
from ep.include.primitive.implements import implements


@implements(BatchMatmulFactory, on=DeviceType.kCPU, keys=MATMUL)
class BatchMatmulImpl(MatmulPrimitive, BatchMatmul):
    pass
