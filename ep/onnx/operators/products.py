"""Matrix products."""

from __future__ import annotations

from typing import Any

from ep import ops
from ep.onnx.operators.fitting import check_broadcasts, check_rank


def gemm(a: Any, b: Any, c: Any = None, *, alpha: float, beta: float, transA: int, transB: int) -> Any:
    """Return `alpha a b + beta c`."""
    check_rank("A", a, 2)
    check_rank("B", b, 2)
    product = ops.matmul(a, b, bool(transA), bool(transB))
    product = product if alpha == 1 else ops.mul(product, alpha)
    if c is None:
        return product
    check_broadcasts("C", c, product.shape)
    return ops.add(product, c if beta == 1 else ops.mul(c, beta))
