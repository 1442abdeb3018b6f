"""BatchMatmul on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.checks import as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import MATMUL
from ep.common.primitive.product import Product, Walk
from ep.cuda.device.stream import check_stream
from ep.cuda.primitive.product_primitive import ProductPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_matmul import BatchMatmul, BatchMatmulFactory
from ep.include.primitive.implements import implements
from ep.include.stream import Stream


class CudaMatmul(ProductPrimitive):
    """Matmul and BatchMatmul; Matmul is a batch of one."""

    signature = signatures.BATCH_MATMUL

    def _launch_sizes(
        self, stream: Stream, sizes: tuple[int, int, int, int], alpha: Any, a: Any, b: Any, beta: Any, c: Any
    ) -> None:
        """sizes: batch_size, m, n and k, checked."""
        numbers = self._number(alpha, "alpha"), self._number(beta, "beta")
        product, counts = self._products.get(sizes) or self._products.keep(sizes, lambda: self._product(*sizes))
        self._launch(check_stream(stream), product, *numbers, (a, b, c), counts)

    def _product(self, batch_size: int, m: int, n: int, k: int) -> tuple[Product, tuple[int, ...]]:
        batches = Walk((batch_size,), (m * k,), (k * n,))
        return Product(m, n, k, batches, Walk((), (), ())), self.signature.counts((batch_size, m, n, k))


@implements(BatchMatmulFactory, on=DeviceType.kCUDA, keys=MATMUL)
class BatchMatmulImpl(CudaMatmul, BatchMatmul):
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
        sizes = as_size(batch_size, "batch_size"), as_size(m, "m"), as_size(n, "n"), as_size(k, "k")
        self._launch_sizes(stream, sizes, alpha, a, b, beta, c)
