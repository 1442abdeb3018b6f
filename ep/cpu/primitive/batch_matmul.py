"""BatchMatmul on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ep.common.checks import as_size
from ep.common.numbers import Numbers
from ep.common.primitive import signatures
from ep.common.primitive.keys import MATMUL
from ep.common.primitive.signature import Signature, reads
from ep.cpu.device.stream import CpuStream
from ep.cpu.engine.product.state import PRODUCT_STATE
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_matmul import BatchMatmul, BatchMatmulFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream


class CpuMatmul(CpuPrimitive):
    """Matmul and BatchMatmul, which Matmul is for one batch."""

    # compiled code takes the numbers as arrays of one element
    signature = Signature(
        (*signatures.BATCH_MATMUL.operands, reads("alpha", 0), reads("beta", 0)), signatures.BATCH_MATMUL.sizes
    )
    state_layout = PRODUCT_STATE

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        (self.data_type,) = request.dtypes or ()
        self._alphas, self._betas = Numbers(self.data_type), Numbers(self.data_type)

    def _compile(self) -> Callable[..., int]:
        from ep.cpu.engine.product.entry import matmul_entry

        return matmul_entry(self.signature, self._state, self.request)

    def _launch_sizes(self, stream: Any, sizes: dict[str, Any], alpha: Any, a: Any, b: Any, beta: Any, c: Any) -> None:
        """Check a launch in Python, then do it; sizes: by the names of Launch, and there may be no batch_size."""
        checked = {name: as_size(size, name) for name, size in sizes.items()}
        batch_size, m, n, k = checked.get("batch_size", 1), checked["m"], checked["n"], checked["k"]
        if k == 0 and batch_size and m and n:  # beta * c, as it is for an alpha of 0
            self._checked(stream, (a, b, c, alpha, beta), self.signature.counts((batch_size, m, n, 0)))
            a, b = (np.zeros(batch_size * size, self.data_type.dtype) for size in (m, n))
            k, alpha = 1, np.zeros((), self.data_type.dtype)
        self._launch_checked(stream, (batch_size, m, n, k), (), (a, b, c, alpha, beta))


@implements(BatchMatmulFactory, on=DeviceType.kCPU, keys=MATMUL)
class BatchMatmulImpl(CpuMatmul, BatchMatmul):
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
        alpha, beta = self._alphas.array(alpha, "alpha"), self._betas.array(beta, "beta")
        if type(stream) is not CpuStream or self._entry(self._words, batch_size, m, n, k, a, b, c, alpha, beta):
            sizes = {"batch_size": batch_size, "m": m, "n": n, "k": k}
            self._launch_sizes(stream, sizes, alpha, a, b, beta, c)
