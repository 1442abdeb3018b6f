"""BatchMatmul on the CPU."""

from __future__ import annotations

from typing import Any

from ep.common.primitive.keys import MATMUL
from ep.cpu.engine.launchable import launched
from ep.cpu.primitive.product_primitive import MatmulPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_matmul import BatchMatmul, BatchMatmulFactory
from ep.include.primitive.implements import implements
from ep.include.stream import Stream


@implements(BatchMatmulFactory, on=DeviceType.kCPU, keys=MATMUL)
class BatchMatmulImpl(MatmulPrimitive, BatchMatmul):
    @launched
    def Launch(
        self,
        stream: Stream,
        batch_size: int,
        m: int,
        n: int,
        k: int,
        alpha: Any,
        a: Any,
        b: Any,
        beta: Any,
        c: Any,
    ) -> None:
        self._launch_product(stream, (batch_size, m, n, k), alpha, a, b, beta, c)
