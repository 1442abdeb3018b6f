"""BroadcastMatmul on the CPU."""

from __future__ import annotations

import math
from itertools import repeat
from typing import Any

from ep.common.checks import as_dims
from ep.common.primitive import signatures
from ep.common.primitive.keys import MATMUL
from ep.common.primitive.product import broadcast_product
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.product.plan import ProductPlan
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.cpu.primitive.product_primitive import ProductPrimitive
from ep.cpu.primitive.windows_primitive import WindowsPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.broadcast_matmul import BroadcastMatmul, BroadcastMatmulFactory
from ep.include.primitive.implements import implements

_DIMS = "a_dims", "b_dims", "c_dims"


@implements(BroadcastMatmulFactory, on=DeviceType.kCPU, keys=MATMUL)
class BroadcastMatmulImpl(WindowsPrimitive, PlannedPrimitive, BroadcastMatmul):
    signature = signatures.BROADCAST_MATMUL.with_numbers(0, *ProductPrimitive.number_operands)

    def _compile(self) -> Launcher:
        from ep.cpu.engine.product.entry import broadcast_matmul_launcher

        return broadcast_matmul_launcher(self._state, self.request)

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *numbers: Any) -> None:
        (alpha, beta), (a_dims, b_dims, c_dims), arrays = numbers, sizes, self._arrays(*numbers)
        given = alpha, a_dims, b_dims, beta, c_dims
        self._launch_by_dims(stream, sizes, (*buffers, *arrays), given=given, arrays=arrays)

    def _launch_dims(self, stream: Any, dims: Any, buffers: Any, data_type: Any = None) -> None:
        each = tuple(map(as_dims, dims, _DIMS, repeat(self.request.max_num_dims or 0)))
        a_dims, b_dims, c_dims = each
        product, counts = broadcast_product(a_dims, b_dims, c_dims, *self.transposed), tuple(map(math.prod, each))
        self._launch_planned(stream, each, counts, buffers, lambda: ProductPlan(product, self.signature, counts))
