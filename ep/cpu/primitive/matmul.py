"""Matmul on the CPU: a BatchMatmul of one batch."""

from __future__ import annotations

from typing import Any

from ep.common.primitive.keys import MATMUL
from ep.cpu.device.stream import CpuStream
from ep.cpu.primitive.batch_matmul import CpuMatmul
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.matmul import Matmul, MatmulFactory
from ep.include.stream import Stream


@implements(MatmulFactory, on=DeviceType.kCPU, keys=MATMUL)
class MatmulImpl(CpuMatmul, Matmul):
    def Launch(self, stream: Stream, m: int, n: int, k: int, alpha: Any, a: Any, b: Any, beta: Any, c: Any) -> None:
        alpha, beta = self._alphas.array(alpha, "alpha"), self._betas.array(beta, "beta")
        if type(stream) is not CpuStream or self._entry(self._words, 1, m, n, k, a, b, c, alpha, beta):
            self._launch_sizes(stream, {"m": m, "n": n, "k": k}, alpha, a, b, beta, c)
