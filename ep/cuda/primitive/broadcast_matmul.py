"""BroadcastMatmul on CUDA."""

from __future__ import annotations

import math
from typing import Any

from ep.common.checks import as_dims
from ep.common.primitive import signatures
from ep.common.primitive.keys import MATMUL
from ep.common.primitive.product import Product, broadcast_product
from ep.cuda.device.stream import check_stream
from ep.cuda.primitive.product_primitive import ProductPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.broadcast_matmul import BroadcastMatmul, BroadcastMatmulFactory
from ep.include.primitive.implements import implements


@implements(BroadcastMatmulFactory, on=DeviceType.kCUDA, keys=MATMUL)
class BroadcastMatmulImpl(ProductPrimitive, BroadcastMatmul):
    signature = signatures.BROADCAST_MATMUL

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *numbers: Any) -> None:
        alpha, beta = map(self._number, numbers, ("alpha", "beta"))
        product, counts = self._products.find(*sizes) or self._product(*sizes)
        self._launch(check_stream(stream), product, alpha, beta, buffers, counts)

    def _product(self, a_dims: Any, b_dims: Any, c_dims: Any) -> tuple[Product, tuple[int, ...]]:
        most = self.request.max_num_dims or 0
        a, b, c = as_dims(a_dims, "a_dims", most), as_dims(b_dims, "b_dims", most), as_dims(c_dims, "c_dims", most)
        product = broadcast_product(a, b, c, self._transpose_a, self._transpose_b)
        return self._products.keep((a, b, c), lambda: (product, (math.prod(a), math.prod(b), math.prod(c))))
