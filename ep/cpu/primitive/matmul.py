"""Matmul on the CPU: a BatchMatmul of one batch."""

from __future__ import annotations

from typing import Any

from ep.common.primitive.keys import MATMUL
from ep.cpu.engine.launchable import launched
from ep.cpu.primitive.product_primitive import MatmulPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.matmul import Matmul, MatmulFactory
from ep.include.stream import Stream


@implements(MatmulFactory, on=DeviceType.kCPU, keys=MATMUL)
class MatmulImpl(MatmulPrimitive, Matmul):
    @launched
    def Launch(self, stream: Stream, m: int, n: int, k: int, alpha: Any, a: Any, b: Any, beta: Any, c: Any) -> None:
        self._launch_product(stream, (1, m, n, k), alpha, a, b, beta, c)
