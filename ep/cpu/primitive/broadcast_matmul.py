"""BroadcastMatmul on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ep.common.checks import as_dims
from ep.common.numbers import Numbers
from ep.common.primitive import signatures
from ep.common.primitive.keys import MATMUL
from ep.common.primitive.product import broadcast_product
from ep.common.primitive.signature import Signature, reads
from ep.cpu.device.stream import CpuStream
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
    state_layout = PRODUCT_STATE

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        (data_type,) = request.dtypes or ()
        self._alphas, self._betas = Numbers(data_type), Numbers(data_type)
        transposed = [request.options[name] is BlasTransposeType.T for name in ("transpose_a", "transpose_b")]
        self._transpose_a, self._transpose_b = transposed

    def _compile(self) -> Callable[..., int]:
        from ep.cpu.engine.product.entry import broadcast_matmul_entry

        return broadcast_matmul_entry(self.signature, self._state, self.request)

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
        alpha, beta = self._alphas.array(alpha, "alpha"), self._betas.array(beta, "beta")
        dims = a_dims, b_dims, c_dims
        last_dims, plan = self._last
        try:
            if dims != last_dims:
                plan = self._find_plan(dims)
        except (TypeError, ValueError):  # dims in a list, or in an array
            plan = None
        operands = a, b, c, alpha, beta
        if plan is None or type(stream) is not CpuStream or self._entry(self._words, plan.words, dims, *operands):
            self._launch_dims(stream, dims, operands)

    def _launch_dims(self, stream: Stream, given: tuple[Any, ...], operands: tuple[Any, ...]) -> None:
        most = self.request.max_num_dims or 0
        each = tuple(as_dims(dims, name, most) for dims, name in zip(given, _DIMS, strict=True))
        a_dims, b_dims, c_dims = each
        product = broadcast_product(a_dims, b_dims, c_dims, self._transpose_a, self._transpose_b)
        sizes = tuple(map(math.prod, each))

        def make() -> ProductPlan:
            plan = ProductPlan(self.signature, product)
            plan.set_checks(sizes, in_place=False)
            return plan

        self._launch_planned(stream, each, sizes, operands, make)
