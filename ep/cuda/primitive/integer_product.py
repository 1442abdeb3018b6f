"""The products of integers on CUDA, which no library computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.common.primitive.product import Product
from ep.common.stored_types import unit_of
from ep.cuda.device.stream import CudaStream
from ep.cuda.engine.product.tiles import tiled
from ep.cuda.primitive.cuda_primitive import KernelPrimitive
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.primitive import Request


class IntegerProduct(KernelPrimitive):
    """The kernel of a matrix product; signed and unsigned integers have the same bits."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        (data_type,) = request.dtypes or ()
        a, b = (request.options[name] is BlasTransposeType.T for name in ("transpose_a", "transpose_b"))
        self._variant = unit_of(data_type), a, b

    def _kernel(self, variant: tuple[Any, bool, bool]) -> Any:
        from ep.cuda.kernels.integer_product import kernel

        return kernel(*variant)

    def _usual_variant(self) -> tuple[Any, bool, bool]:
        return self._variant

    def Launch(
        self, stream: CudaStream, product: Product, addresses: tuple[int, int, int], alpha: Any, beta: Any
    ) -> None:
        """Queue a product. addresses: those of a, b and c. alpha, beta: numbers of their type."""
        data_type, transpose_a, _ = self._variant
        factors = (int(np.asarray(number).astype(np.int64)) for number in (alpha, beta))
        for grid, words in tiled(product, transpose_a, addresses, data_type.itemsize, *factors):
            self._queue_grid(stream, self._variant, grid, *words)
