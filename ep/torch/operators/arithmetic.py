"""Arithmetic: operators of one element each, reductions along axes, running sums, softmaxes, orders."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ep import ops
from ep.torch.table import AtenCall, Function, add, add_named, in_order, is_integer

_POWERS: Final[dict[Any, Any]] = {
    0.5: ops.sqrt, -0.5: ops.rsqrt, -1: ops.reciprocal, 1: lambda x: x, 2: lambda x: ops.mul(x, x),
}  # fmt: skip


def _promoted(function: Any) -> Function:
    """Return the function of operands in the type of the result."""
    return lambda c: function(*(c.cast(x) for x in c.given.values()))


def _compared(function: Any) -> Function:
    """Return the function of two operands in the type that both are promoted to."""
    return lambda c: function(*(c.cast(x, c.common()) for x in c.given.values()))


def _of_floats(function: Any, of_integers: Any = lambda x: x) -> Function:
    """Return the function that has another meaning for integers and bool."""
    return lambda c: of_integers(c.self) if is_integer(c.self) else function(c.self)


def _none(x: Any) -> Any:
    """Return where there is no number: not-a-number alone differs from itself."""
    return ops.not_equal(x, x)


def _of_known(function: Any) -> Function:
    """Return the function of two operands that is the other one where one of them is not a number."""
    return _promoted(lambda x, y: ops.where(_none(x), y, ops.where(_none(y), x, function(x, y))))


def _add(c: AtenCall) -> Any:
    x, y = c.cast(c.self), c.cast(c.other)
    if c.dtype == np.bool_:
        return ops.logical_or(x, y) if c.alpha else x
    return (ops.sub if c.name == "sub" else ops.add)(x, y if c.alpha == 1 else ops.mul(y, c.cast(c.alpha)))


def _div(c: AtenCall) -> Any:
    if c.rounding_mode is None:
        return c.cast(ops.div(*c.wide(c.self, c.other)))
    x, y = c.wide(c.self, c.other)
    if c.rounding_mode == "floor":
        return c.cast((ops.floor_div if is_integer(x) else _floored)(x, y))
    return c.cast(ops.trunc_div(x, y) if c.dtype.kind in "iu" else ops.trunc(ops.div(x, y)))


def _floored(x: Any, y: Any) -> Any:
    """Return quotients rounded down, the exact ones, as Python does: `ops.floor_div` rounds them to the type first."""
    rest = ops.fmod(x, y)
    quotient = ops.div(ops.sub(x, rest), y)
    is_above = ops.logical_and(ops.not_equal(rest, 0), ops.not_equal(ops.less(rest, 0), ops.less(y, 0)))
    quotient = ops.rint(ops.where(is_above, ops.sub(quotient, 1), quotient))
    return ops.where(ops.equal(y, 0), ops.div(x, y), quotient)


def _pow(c: AtenCall) -> Any:
    x, exponent = c.cast(c.self), c.exponent
    if is_integer(x) and isinstance(exponent, int) and exponent < 0:
        raise NotImplementedError(f"integers to the power of {exponent}, which PyTorch refuses")
    if isinstance(exponent, float | int) and exponent in (_POWERS if not is_integer(x) else (1, 2)):
        return _POWERS[exponent](x)
    return ops.pow(x, c.cast(exponent))


def _round(c: AtenCall) -> Any:
    scale, unscale = (ops.mul, ops.div) if c.decimals > 0 else (ops.div, ops.mul)
    power = c.cast(10.0 ** abs(c.decimals))
    return c.self if is_integer(c.self) else unscale(ops.rint(scale(c.self, power)), power)


def _polygamma(c: AtenCall) -> Any:
    x, n = c.cast(c.self), c.n
    if n < 2:
        return (ops.trigamma if n else ops.digamma)(x)
    return ops.mul(ops.zeta(c.filled(n + 1), x), (-1) ** (n + 1) * math.factorial(n))


def _reduced(function: Any) -> Any:
    """Return the function of ATen's arguments: it reduces all axes for None, and for no axis."""
    return lambda c, **options: function(c.self, None if c.dim == [] else c.dim, keepdims=bool(c.keepdim), **options)


def _summed(function: Any) -> Function:
    """Return the same for a function that converts the elements to the type of the result first."""
    return lambda c: _reduced(function)(c, dtype=c.dtype)


def _var(c: AtenCall) -> Any:
    return _reduced(ops.var)(c, correction=1 if c.correction is None else c.correction)


def _taken(c: AtenCall, places: Any) -> list[Any]:
    return [ops.take_along_axis(c.self, places, c.dim), places]


add_named(_promoted, """
    acos acosh asin asinh atan atanh cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 reciprocal rsqrt sigmoid sin
    sinh sqrt tan tanh lgamma digamma mish silu maximum minimum fmod hypot bitwise_and bitwise_or bitwise_xor
    bitwise_not remainder=floor_mod clamp=clip relu silu_backward=silu_backward_with_dy_x
    tanh_backward=tanh_backward_with_dy_y sigmoid_backward=sigmoid_backward_with_dy_y
""")  # fmt: skip
add_named(_compared, """
    eq=equal ne=not_equal lt=less le=less_equal gt=greater ge=greater_equal logical_and logical_or logical_xor
""")  # fmt: skip
add_named(in_order, "logical_not leaky_relu softshrink=soft_shrink softplus=soft_plus")
add_named(_of_floats, "floor ceil trunc round.default=rint")
add({
    "isnan": lambda c: _none(c.self),
    "isinf": _of_floats(ops.is_inf, _none),
    "neg": _of_floats(ops.negative, lambda x: ops.sub(0, x)),
    "abs": lambda c: c.self if c.self.dtype.kind in "ub" else ops.abs(c.self),
    "gelu": lambda c: (ops.gelu if c.approximate == "none" else ops.fast_gelu)(c.self),
    "gelu_backward": lambda c: (
        ops.gelu_backward_with_dy_x if c.approximate == "none" else ops.fast_gelu_backward_with_dy_x
    )(c.grad_output, c.self),
    "_to_copy": lambda c: c.cast(c.self),
    "clone lift_fresh_copy alias detach": lambda c: c.self,
    "copy.default": lambda c: ops.expand(c.cast(c.src), c.shape),
    "where.self": lambda c: ops.where(c.condition, c.cast(c.self), c.cast(c.other)),
    "fmax": _of_known(ops.maximum),
    "fmin": _of_known(ops.minimum),
    "angle": lambda c: ops.where(ops.less(c.self, 0), math.pi, ops.where(_none(c.self), c.cast(c.self), c.cast(0))),
    "add sub": _add,
    "mul": lambda c: c.cast((ops.logical_and if c.dtype == np.bool_ else ops.mul)(*c.wide(c.self, c.other))),
    "div": _div,
    "pow": _pow,
    "sign": _of_floats(
        ops.sign, lambda x: x if x.dtype.kind == "b" else ops.clip(x, -1 if x.dtype.kind == "i" else 0, 1)
    ),
    "round.decimals": _round,
    "polygamma": _polygamma,
    "sum": _summed(ops.sum),
    "prod": _summed(ops.prod),
    "mean": _summed(ops.mean),
    "amax max.default": _reduced(ops.max),
    "amin min.default": _reduced(ops.min),
    "any": _reduced(ops.any),
    "all": _reduced(ops.all),
    "argmax": _reduced(ops.argmax),
    "argmin": _reduced(ops.argmin),
    "var.correction": _var,
    "var_mean.correction": lambda c: (_var(c), _reduced(ops.mean)(c)),
    "cumsum": lambda c: ops.cumulative_sum(c.self, c.dim, c.dtype),
    "cumprod": lambda c: ops.cumulative_prod(c.self, c.dim, c.dtype),
    "_softmax": lambda c: ops.softmax(c.cast(c.self), c.dim),
    "_log_softmax": lambda c: ops.log_softmax(c.cast(c.self), c.dim),
    "_softmax_backward_data": lambda c: ops.softmax_grad(dy=c.grad_output, y=c.output, axis=c.dim),
    "_log_softmax_backward_data": lambda c: ops.log_softmax_grad(dy=c.grad_output, y=c.output, axis=c.dim),
    "max.dim": lambda c: _taken(c, ops.argmax(c.self, c.dim, keepdims=True)),
    "min.dim": lambda c: _taken(c, ops.argmin(c.self, c.dim, keepdims=True)),
    "sort": lambda c: _taken(c, ops.argsort(c.self, c.dim, c.descending)),
    "topk.default": in_order(ops.topk),
})  # fmt: skip
