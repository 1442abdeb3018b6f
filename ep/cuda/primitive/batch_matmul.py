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


class CudaMatmul(ProductPrimitive):
    """Matmul and BatchMatmul; Matmul is a batch of one."""

    signature = signatures.BATCH_MATMUL

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *numbers: Any) -> None:
        checked: Any = tuple(map(as_size, sizes, self.signature.sizes))
        alpha, beta = map(self._number, numbers, ("alpha", "beta"))
        product, counts = self._products.get(checked) or self._products.keep(checked, lambda: self._product(*checked))
        self._launch(check_stream(stream), product, alpha, beta, buffers, counts)

    def _product(self, batch_size: int, m: int, n: int, k: int) -> tuple[Product, tuple[int, ...]]:
        batches = Walk((batch_size,), (m * k,), (k * n,))
        return Product(m, n, k, batches, Walk((), (), ())), self.signature.counts((batch_size, m, n, k))


@implements(BatchMatmulFactory, on=DeviceType.kCUDA, keys=MATMUL)
class BatchMatmulImpl(CudaMatmul, BatchMatmul):
    pass
