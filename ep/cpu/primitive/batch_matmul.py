"""BatchMatmul on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.common.primitive import signatures
from ep.common.primitive.keys import MATMUL
from ep.common.primitive.signature import Signature, reads
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.launchable import launched
from ep.cpu.engine.product.state import PRODUCT_STATE
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_matmul import BatchMatmul, BatchMatmulFactory
from ep.include.primitive.implements import implements
from ep.include.stream import Stream


class CpuMatmul(CpuPrimitive):
    """Matmul and BatchMatmul, which Matmul is for one batch."""

    # compiled code takes the numbers as arrays of one element
    signature = Signature(
        (*signatures.BATCH_MATMUL.operands, reads("alpha", 0), reads("beta", 0)), signatures.BATCH_MATMUL.sizes
    )
    state_layout, number_operands = PRODUCT_STATE, ("alpha", "beta")

    def _compile(self) -> Launcher:
        from ep.cpu.engine.product.entry import matmul_launcher

        return matmul_launcher(self._state, self.request)

    def _launch_product(
        self, stream: Any, sizes: tuple[Any, ...], alpha: Any, a: Any, b: Any, beta: Any, c: Any
    ) -> None:
        """Do a launch that compiled code has not done; sizes: those of the signature, as they were given."""
        arrays = self._arrays(alpha, beta)
        self._remember((alpha, beta), None, arrays)
        self._launch_unplanned(stream, sizes, (a, b, c, *arrays))

    def _launch_numbers(self, stream: Any, numbers: tuple[int, ...], buffers: Sequence[Any]) -> None:
        batch_size, m, n, k = numbers
        if k == 0 and batch_size and m and n:  # beta * c, as it is for an alpha of 0
            self._checked(stream, buffers, self.signature.counts(numbers))
            _, _, c, _, beta = buffers
            dtype = beta.dtype
            a, b = (np.zeros(batch_size * size, dtype) for size in (m, n))
            numbers, buffers = (batch_size, m, n, 1), (a, b, c, np.zeros((), dtype), beta)
        super()._launch_numbers(stream, numbers, buffers)


@implements(BatchMatmulFactory, on=DeviceType.kCPU, keys=MATMUL)
class BatchMatmulImpl(CpuMatmul, BatchMatmul):
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
