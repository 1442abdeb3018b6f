"""BroadcastMatmul on CUDA."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from ep.include.stream import Stream


@implements(BroadcastMatmulFactory, on=DeviceType.kCUDA, keys=MATMUL)
class BroadcastMatmulImpl(ProductPrimitive, BroadcastMatmul):
    signature = signatures.BROADCAST_MATMUL

    def Launch(
        self,
        stream: Stream,
        alpha: Any,
        a_dims: Sequence[int],
        a: Any,
        b_dims: Sequence[int],
        b: Any,
        beta: Any,
        c_dims: Sequence[int],
        c: Any,
    ) -> None:
        numbers = self._number(alpha, "alpha"), self._number(beta, "beta")
        product, counts = self._products.find(a_dims, b_dims, c_dims) or self._product(a_dims, b_dims, c_dims)
        self._launch(check_stream(stream), product, *numbers, (a, b, c), counts)

    def _product(self, a_dims: Any, b_dims: Any, c_dims: Any) -> tuple[Product, tuple[int, ...]]:
        most = self.request.max_num_dims or 0
        a, b, c = as_dims(a_dims, "a_dims", most), as_dims(b_dims, "b_dims", most), as_dims(c_dims, "c_dims", most)
        product = broadcast_product(a, b, c, self._transpose_a, self._transpose_b)
        return self._products.keep((a, b, c), lambda: (product, (math.prod(a), math.prod(b), math.prod(c))))
