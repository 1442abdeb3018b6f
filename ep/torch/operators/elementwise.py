"""Operators of one element each."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ep import ops
from ep.torch.table import Arguments, AtenCall, Function, add, add_named, is_integer

_POWERS: Final[dict[Any, Any]] = {
    0.5: ops.sqrt, -0.5: ops.rsqrt, -1: ops.reciprocal, 1: lambda x: x, 2: lambda x: ops.mul(x, x),
}  # fmt: skip


def _promoted(function: Any) -> Function:
    """Return the function of operands in the type of the result."""
    return lambda c, a: function(*(c.cast(x) for x in a.given.values()))


def _compared(function: Any) -> Function:
    """Return the function of two operands in the type that both are promoted to."""
    return lambda c, a: function(*(c.cast(x, c.common()) for x in a.given.values()))


def _of_floats(function: Any, of_integers: Any = lambda x: x) -> Function:
    """Return the function that has another meaning for integers and bool."""
    return lambda _, a: of_integers(a.self) if is_integer(a.self) else function(a.self)


def _none(x: Any) -> Any:
    """Return where there is no number: not-a-number alone differs from itself."""
    return ops.not_equal(x, x)


def _of_known(function: Any) -> Function:
    """Return the function of two operands that is the other one where one of them is not a number."""
    return _promoted(lambda x, y: ops.where(_none(x), y, ops.where(_none(y), x, function(x, y))))


def _shrink_backward(_: AtenCall, a: Arguments) -> Any:
    dy = a.grad_output if a.grad_out is None else a.grad_out
    return ops.where(ops.less_equal(ops.abs(a.self), a.lambd), 0, dy)


def _add(c: AtenCall, a: Arguments) -> Any:
    x, y = c.cast(a.self), c.cast(a.other)
    if c.dtype == np.bool_:
        return ops.logical_or(x, y) if a.alpha else x
    return (ops.sub if c.name == "sub" else ops.add)(x, y if a.alpha == 1 else ops.mul(y, c.cast(a.alpha)))


def _div(c: AtenCall, a: Arguments) -> Any:
    if a.rounding_mode is None:
        return c.cast(ops.div(*c.wide(a.self, a.other)))
    x, y = c.wide(a.self, a.other)
    if a.rounding_mode == "floor":
        return c.cast((ops.floor_div if is_integer(x) else _floored)(x, y))
    return c.cast(ops.trunc_div(x, y) if c.dtype.kind in "iu" else ops.trunc(ops.div(x, y)))


def _floored(x: Any, y: Any) -> Any:
    """Return quotients rounded down, the exact ones, as Python does: `ops.floor_div` rounds them to the type first."""
    rest = ops.fmod(x, y)
    quotient = ops.div(ops.sub(x, rest), y)
    is_above = ops.logical_and(ops.not_equal(rest, 0), ops.not_equal(ops.less(rest, 0), ops.less(y, 0)))
    quotient = ops.rint(ops.where(is_above, ops.sub(quotient, 1), quotient))
    return ops.where(ops.equal(y, 0), ops.div(x, y), quotient)


def _pow(c: AtenCall, a: Arguments) -> Any:
    x, exponent = c.cast(a.self), a.exponent
    if is_integer(x) and isinstance(exponent, int) and exponent < 0:
        raise NotImplementedError(f"integers to the power of {exponent}, which PyTorch refuses")
    if isinstance(exponent, float | int) and exponent in (_POWERS if not is_integer(x) else (1, 2)):
        return _POWERS[exponent](x)
    return ops.pow(x, c.cast(exponent))


def _round(c: AtenCall, a: Arguments) -> Any:
    scale, unscale = (ops.mul, ops.div) if a.decimals > 0 else (ops.div, ops.mul)
    power = c.cast(10.0 ** abs(a.decimals))
    return a.self if is_integer(a.self) else unscale(ops.rint(scale(a.self, power)), power)


def _polygamma(c: AtenCall, a: Arguments) -> Any:
    x, n = c.cast(a.self), a.n
    if n < 2:
        return (ops.trigamma if n else ops.digamma)(x)
    return ops.mul(ops.zeta(c.filled(n + 1), x), (-1) ** (n + 1) * math.factorial(n))


add_named(_promoted, """
    acos acosh asin asinh atan atanh cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 reciprocal rsqrt sigmoid sin
    sinh sqrt tan tanh lgamma digamma mish silu maximum minimum fmod hypot bitwise_and bitwise_or bitwise_xor
    bitwise_not remainder=floor_mod clamp=clip relu silu_backward=silu_backward_with_dy_x
    tanh_backward=tanh_backward_with_dy_y sigmoid_backward=sigmoid_backward_with_dy_y
""")  # fmt: skip
add_named(_compared, """
    eq=equal ne=not_equal lt=less le=less_equal gt=greater ge=greater_equal logical_and logical_or logical_xor
""")  # fmt: skip
add_named(_of_floats, "floor ceil trunc round.default=rint")
add({
    "isnan": lambda _, a: _none(a.self),
    "isinf": _of_floats(ops.is_inf, _none),
    "neg": _of_floats(ops.negative, lambda x: ops.sub(0, x)),
    "abs": lambda _, a: a.self if a.self.dtype.kind in "ub" else ops.abs(a.self),
    "logical_not": lambda _, a: ops.logical_not(a.self),
    "leaky_relu": lambda _, a: ops.leaky_relu(a.self, float(a.negative_slope)),
    "softshrink": lambda _, a: ops.soft_shrink(a.self, float(a.lambd)),
    "softplus": lambda _, a: ops.soft_plus(a.self, float(a.beta), float(a.threshold)),
    "gelu": lambda _, a: (ops.gelu if a.approximate == "none" else ops.fast_gelu)(a.self),
    "gelu_backward": lambda _, a: (
        ops.gelu_backward_with_dy_x if a.approximate == "none" else ops.fast_gelu_backward_with_dy_x
    )(a.grad_output, a.self),
    "hardshrink_backward softshrink_backward": _shrink_backward,
    "_to_copy": lambda c, a: c.cast(a.self),
    "clone lift_fresh_copy alias detach": lambda _, a: a.self,
    "copy.default": lambda c, a: ops.expand(c.cast(a.src), c.shape),
    "where.self": lambda c, a: ops.where(a.condition, c.cast(a.self), c.cast(a.other)),
    "fmax": _of_known(ops.maximum),
    "fmin": _of_known(ops.minimum),
    "angle": lambda c, a: ops.where(
        ops.less(a.self, 0), math.pi, ops.where(_none(a.self), c.cast(a.self), c.cast(0))
    ),
    "add sub": _add,
    "mul": lambda c, a: c.cast((ops.logical_and if c.dtype == np.bool_ else ops.mul)(*c.wide(a.self, a.other))),
    "div": _div,
    "pow": _pow,
    "sign": _of_floats(
        ops.sign, lambda x: x if x.dtype.kind == "b" else ops.clip(x, -1 if x.dtype.kind == "i" else 0, 1)
    ),
    "round.decimals": _round,
    "polygamma": _polygamma,
})  # fmt: skip
