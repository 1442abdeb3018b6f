"""Matmul on CUDA: a BatchMatmul of one batch."""

from __future__ import annotations

from typing import Any

from ep.common.checks import as_size
from ep.common.primitive.keys import MATMUL
from ep.cuda.primitive.batch_matmul import CudaMatmul
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.matmul import Matmul, MatmulFactory
from ep.include.stream import Stream


@implements(MatmulFactory, on=DeviceType.kCUDA, keys=MATMUL)
class MatmulImpl(CudaMatmul, Matmul):
    def Launch(self, stream: Stream, m: int, n: int, k: int, alpha: Any, a: Any, b: Any, beta: Any, c: Any) -> None:
        sizes = 1, as_size(m, "m"), as_size(n, "n"), as_size(k, "k")
        self._launch_sizes(stream, sizes, alpha, a, b, beta, c)
