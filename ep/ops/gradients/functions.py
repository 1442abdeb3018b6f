"""Gradients with functions of their own, besides those of gather, expand, repeat, slice and softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ep.include.arrays import Array, ArrayLike
from ep.ops.declare.function import FUNCTIONS
from ep.ops.gradients.vjp import vjp


def matmul_grad(
    dy: ArrayLike, x1: ArrayLike, x2: ArrayLike, transpose_x1: bool = False, transpose_x2: bool = False
) -> list[Array]:
    """Return the gradients of `matmul` with respect to x1 and x2: products of dy with the other operand.

    They are summed over broadcast axes.

    dy: the gradient with respect to the result, of its shape and dtype. The others are the arguments of matmul.
    """
    transposes = {"transpose_x1": transpose_x1, "transpose_x2": transpose_x2}
    return vjp("matmul", (x1, x2), transposes, None, dy)


def _binary_grad(name: str) -> Callable[..., list[Any]]:
    def function(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
        return vjp(name, (x, y), {}, None, dy)

    function.__name__ = function.__qualname__ = f"{name}_grad"
    function.__doc__ = f"""Return the gradients of `{name}` by x and y, each summed over what was broadcast in it.

    dy: the gradient by the result, of its shape and dtype. x, y: what {name} was given.
    """
    return function


FUNCTIONS["matmul_grad"] = matmul_grad
for _name in ("add", "sub", "mul", "div", "maximum", "minimum", "pow"):
    FUNCTIONS[f"{_name}_grad"] = _binary_grad(_name)
