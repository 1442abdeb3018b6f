"""Matrix products."""

from __future__ import annotations

from typing import Any

from ep import ops


def gemm(a: Any, b: Any, c: Any = None, *, alpha: float, beta: float, transA: int, transB: int) -> Any:
    """Return `alpha a b + beta c`."""
    product = ops.matmul(a, b, bool(transA), bool(transB))
    product = product if alpha == 1 else ops.mul(product, alpha)
    if c is None:
        return product
    return ops.add(product, c if beta == 1 else ops.mul(c, beta))
