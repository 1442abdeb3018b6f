"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep import ops
from ep.onnx.operators.elementwise import whole
from ep.onnx.operators.fitting import check, check_broadcasts, check_rank


def matmul(a: Any, b: Any) -> Any:
    """Return the products of matrices as `numpy.matmul` does; those of integers are sums of products, modulo the range
    of their type."""
    if a.dtype.kind not in "iu":
        return ops.matmul(a, b)
    check_rank("A", a, least=1)
    check_rank("B", b, least=1)
    rows = a if len(a.shape) > 1 else a.reshape((1, *a.shape))
    columns = ops.permute(b, [*range(len(b.shape) - 2), -1, -2]) if len(b.shape) > 1 else b.reshape((1, *b.shape))
    check(
        rows.shape[-1] == columns.shape[-1],
        "A of shape",
        tuple(a.shape),
        f"of as many columns as B has rows, {tuple(b.shape)}",
    )
    wide = (
        rows.reshape((*rows.shape[:-1], 1, rows.shape[-1])),
        columns.reshape((*columns.shape[:-2], 1, *columns.shape[-2:])),
    )
    found = ops.sum(ops.mul(*wide), -1, dtype=a.dtype)
    sizes = [*found.shape[:-2]]
    sizes += [found.shape[-2]] if len(a.shape) > 1 else []
    return found.reshape((*sizes, found.shape[-1]) if len(b.shape) > 1 else tuple(sizes))


def gemm(a: Any, b: Any, c: Any = None, *, alpha: float, beta: float, transA: int, transB: int) -> Any:
    """Return `alpha a b + beta c`; of integers, modulo the range of their type, or with fractions in float64, without
    the part behind the point."""
    check_rank("A", a, 2)
    check_rank("B", b, 2)
    dtype = a.dtype
    if dtype.kind in "iu":
        a, b = (ops.permute(one, (1, 0)) if is_across else one for one, is_across in ((a, transA), (b, transB)))
        product, given = matmul(a, b), (alpha, 1.0 if c is None else beta)
        alpha, beta = (whole(name, one, dtype) for name, one in zip(("alpha", "beta"), given, strict=True))
        if any(one % 1 for one in given):
            (alpha, beta), product = given, ops.cast(product, np.float64)
            c = None if c is None else ops.cast(c, np.float64)
    else:
        product = ops.matmul(a, b, bool(transA), bool(transB))
    product = product if alpha == 1 else ops.mul(product, alpha)
    if c is not None:
        check_broadcasts("C", c, product.shape)
        product = ops.add(product, c if beta == 1 else ops.mul(c, beta))
    return product if product.dtype == dtype else ops.cast(product, dtype)
