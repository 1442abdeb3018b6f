"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep import ops
from ep.onnx.operators.elementwise import whole
from ep.onnx.operators.fitting import check_broadcasts, check_rank
from ep.onnx.operators.line import line


@line("Gemm", 7)
def gemm(a: Any, b: Any, c: Any = None, *, alpha: float, beta: float, transA: int, transB: int) -> Any:
    """Return `alpha a b + beta c`; of integers, modulo the range of their type, or with fractions in float64, without
    the part behind the point."""
    check_rank("A", a, 2)
    check_rank("B", b, 2)
    dtype, product = a.dtype, ops.matmul(a, b, bool(transA), bool(transB))
    if dtype.kind in "iu":
        given = alpha, 1.0 if c is None else beta
        alpha, beta = (whole(name, one, dtype) for name, one in zip(("alpha", "beta"), given, strict=True))
        if any(one % 1 for one in given):
            (alpha, beta), product = given, ops.cast(product, np.float64)
            c = None if c is None else ops.cast(c, np.float64)
    product = product if alpha == 1 else ops.mul(product, alpha)
    if c is not None:
        check_broadcasts("C", c, product.shape)
        product = ops.add(product, c if beta == 1 else ops.mul(c, beta))
    return product if product.dtype == dtype else ops.cast(product, dtype)


line("MatMul", 1)(ops.matmul)
