"""Gradients as functions of their own, beside those of gather, expand, repeat, slice and softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ep.include.arrays import Array, ArrayLike
from ep.ops.declare.function import FUNCTIONS
from ep.ops.devices import arrays_of
from ep.ops.gradients.vjp import (
    as_array,
    call,
    summed_to,
    vjp,
)


def matmul_grad(
    dy: ArrayLike, x1: ArrayLike, x2: ArrayLike, transpose_x1: bool = False, transpose_x2: bool = False
) -> list[Array]:
    """Return the gradients of `matmul` by x1 and x2: products with the other operand, summed over what was broadcast.

    dy: the gradient by the result, of its shape. The others are what matmul was given.
    """
    arrays = arrays_of((dy, x1, x2), ("dy", "x1", "x2"))
    dy, x1, x2 = (as_array(arrays, *one) for one in ((dy, "dy"), (x1, "x1"), (x2, "x2")))
    matmul = call("matmul")
    a = x1 if len(x1.shape) > 1 else x1.reshape((1, *x1.shape))
    b = x2 if len(x2.shape) > 1 else x2.reshape((*x2.shape, 1))
    rows = a.shape[-1 if transpose_x1 else -2]
    columns = b.shape[-2 if transpose_x2 else -1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    dc = dy.reshape((*batch, rows, columns))
    of_a = matmul(b, dc, transpose_x2, True) if transpose_x1 else matmul(dc, b, False, not transpose_x2)
    of_b = matmul(dc, a, True, transpose_x1) if transpose_x2 else matmul(a, dc, not transpose_x1, False)
    return [summed_to(of_a, a).reshape(x1.shape), summed_to(of_b, b).reshape(x2.shape)]


def _binary_grad(name: str) -> Callable[..., list[Any]]:
    def function(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
        return vjp(name, (x, y), {}, None, dy)

    function.__name__ = function.__qualname__ = f"{name}_grad"
    function.__doc__ = f"""Return the gradients of `{name}` by x and y, each summed over what was broadcast in it.

    dy: the gradient by the result, of its shape. x, y: what {name} was given.
    """
    return function


FUNCTIONS["matmul_grad"] = matmul_grad
FUNCTIONS.update(
    {f"{name}_grad": _binary_grad(name) for name in ("add", "sub", "mul", "div", "maximum", "minimum", "pow")}
)
