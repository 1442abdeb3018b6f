"""The base classes of the CPU's matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep.common.primitive import signatures
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.product.parts import ALL_PARTS
from ep.cpu.engine.product.state import ProductState
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.primitive.blas import BlasTransposeType

_NUMBERS: Final = "alpha", "beta"


class ProductPrimitive(CpuPrimitive):
    """A primitive of the product engine. Compiled code receives alpha and beta as operands."""

    state_record, number_operands = ProductState, _NUMBERS

    def _compile_variants(self) -> None:
        super()._compile_variants()
        self._set_parts(ALL_PARTS)

    def _provide(self) -> None:
        lacking = int(self._words[ProductState.lacks] & ~self._words[ProductState.has])
        if lacking:
            self._set_parts(lacking)
        else:
            super()._provide()

    def _set_parts(self, needed: int) -> None:
        from ep.cpu.engine.product.multipliers import set_parts
        from ep.cpu.engine.product.types import alike

        set_parts(self._state, alike(*(self.request.dtypes or ())), needed)

    @property
    def transposed(self) -> tuple[bool, bool]:
        """Whether the matrices of a are transposed, and those of b."""
        a, b = (self.request.options[name] is BlasTransposeType.T for name in ("transpose_a", "transpose_b"))
        return a, b


class MatmulPrimitive(ProductPrimitive):
    """Matmul is BatchMatmul of one batch."""

    signature = signatures.BATCH_MATMUL.with_numbers(0, *_NUMBERS)

    def _compile(self) -> Launcher:
        from ep.cpu.engine.product.entry import matmul_launcher

        return matmul_launcher(self._state, self.request)

    def _launch_numbers(self, stream: Any, numbers: tuple[int, ...], buffers: Sequence[Any]) -> None:
        batch_size, m, n, k = numbers
        if k == 0 and batch_size and m and n:  # beta * c, as for an alpha of 0
            self._checked(stream, buffers, self.signature.counts(numbers))
            _, _, c, _, beta = buffers
            dtype = beta.dtype
            a, b = (np.zeros(batch_size * size, dtype) for size in (m, n))
            numbers, buffers = (batch_size, m, n, 1), (a, b, c, np.zeros((), dtype), beta)
        super()._launch_numbers(stream, numbers, buffers)
