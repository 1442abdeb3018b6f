"""BroadcastMatmul on the CPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ep.common.checks import as_dims
from ep.common.primitive import signatures
from ep.common.primitive.keys import MATMUL
from ep.common.primitive.product import broadcast_product
from ep.common.primitive.signature import Signature, reads
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.launchable import launched
from ep.cpu.engine.product.plan import ProductPlan
from ep.cpu.engine.product.state import PRODUCT_STATE
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.broadcast_matmul import BroadcastMatmul, BroadcastMatmulFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream

_DIMS = "a_dims", "b_dims", "c_dims"


@implements(BroadcastMatmulFactory, on=DeviceType.kCPU, keys=MATMUL)
class BroadcastMatmulImpl(PlannedPrimitive, BroadcastMatmul):
    # compiled code takes the numbers as arrays of one element
    signature = Signature(
        (*signatures.BROADCAST_MATMUL.operands, reads("alpha", 0), reads("beta", 0)), signatures.BROADCAST_MATMUL.sizes
    )
    state_layout, number_operands = PRODUCT_STATE, ("alpha", "beta")

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        transposed = [request.options[name] is BlasTransposeType.T for name in ("transpose_a", "transpose_b")]
        self._transpose_a, self._transpose_b = transposed

    def _compile(self) -> Launcher:
        from ep.cpu.engine.product.entry import broadcast_matmul_launcher

        return broadcast_matmul_launcher(self._state, self.request)

    @launched
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
        arrays, given = self._arrays(alpha, beta), (alpha, a_dims, b_dims, beta, c_dims)
        self._launch_by_dims(stream, (a_dims, b_dims, c_dims), (a, b, c, *arrays), given=given, arrays=arrays)

    def _launch_dims(self, stream: Any, dims: Any, buffers: Any, data_type: Any = None) -> None:
        most = self.request.max_num_dims or 0
        each = tuple(as_dims(given, name, most) for given, name in zip(dims, _DIMS, strict=True))
        a_dims, b_dims, c_dims = each
        product = broadcast_product(a_dims, b_dims, c_dims, self._transpose_a, self._transpose_b)
        sizes = tuple(map(math.prod, each))

        def make() -> ProductPlan:
            plan = ProductPlan(self.signature, product)
            plan.set_checks(sizes, in_place=False)
            return plan

        self._launch_planned(stream, each, sizes, buffers, make)
