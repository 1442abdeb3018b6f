"""Operators of one element each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch

from ep import ops
from ep.torch.table import Call, Function, add_all, computes, expanded, is_integer
from ep.torch.tensors import DTYPES

_SAME: Final = """
    acos acosh asin asinh atan atanh cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 reciprocal rsqrt sigmoid sin
    sinh sqrt tan tanh lgamma digamma mish silu maximum minimum fmod hypot bitwise_and bitwise_or bitwise_xor
"""
"""The operators whose operands have the type of the result, and the name that `ep.ops` has for them."""
_COMPARISONS: Final = {
    "eq": ops.equal, "ne": ops.not_equal, "lt": ops.less, "le": ops.less_equal, "gt": ops.greater,
    "ge": ops.greater_equal,
}  # fmt: skip


def _promoted(function: Function) -> Function:
    """Return the function of operands in the type of the result."""
    return lambda call, *operands: function(*(call.cast(one) for one in operands))


def _compared(function: Function) -> Function:
    """Return the function of two operands in the type that both are promoted to."""

    def compute(call: Call, x: Any, y: Any) -> Any:
        dtype = call.common(0, 1)
        return function(call.cast(x, dtype), call.cast(y, dtype))

    return compute


def _of_floats(function: Function, of_integers: Function = lambda x: x) -> Function:
    """Return the function that has another meaning for integers and bool."""
    return lambda call, x: of_integers(x) if is_integer(x) else function(x)


def _none(x: Any) -> Any:
    """Return where there is no number: not-a-number alone differs from itself."""
    return ops.not_equal(x, x)


def _where_known(function: Function) -> Function:
    """Return the function of two operands that is the other one where one of them is not a number."""

    def compute(call: Call, x: Any, y: Any) -> Any:
        x, y = call.cast(x), call.cast(y)
        return function(x, y) if is_integer(x) else ops.where(_none(x), y, ops.where(_none(y), x, function(x, y)))

    return compute


add_all({name: _promoted(getattr(ops, name)) for name in _SAME.split()})
add_all({f"{name}.Tensor {name}.Scalar": _compared(function) for name, function in _COMPARISONS.items()})
add_all({f"logical_{name}": _compared(getattr(ops, f"logical_{name}")) for name in ("and", "or", "xor")})
add_all({
    "remainder": _promoted(ops.floor_mod),
    "floor": _of_floats(ops.floor),
    "ceil": _of_floats(ops.ceil),
    "trunc": _of_floats(ops.trunc),
    "round.default": _of_floats(ops.rint),
    "isnan": _of_floats(ops.is_nan, _none),
    "isinf": _of_floats(ops.is_inf, _none),
    "relu": _of_floats(ops.relu, lambda x: ops.maximum(x, 0)),
    "logical_not": lambda _, x: ops.logical_not(x),
    "bitwise_not": lambda _, x: ops.bitwise_not(x),
    "hardswish": lambda _, x: ops.hard_swish(x),
    "hardsigmoid": lambda _, x: ops.hard_sigmoid(x),
    "leaky_relu": lambda _, x, slope=0.01: ops.leaky_relu(x, float(slope)),
    "silu_backward": lambda _, dy, x: ops.silu_backward_with_dy_x(dy, x),
    "tanh_backward": lambda _, dy, y: ops.tanh_backward_with_dy_y(dy, y),
    "sigmoid_backward": lambda _, dy, y: ops.sigmoid_backward_with_dy_y(dy, y),
    "_to_copy": lambda call, x, **_: call.cast(x),
    "clone lift_fresh_copy alias detach": lambda _, x, **__: x,
    "where.self": lambda call, condition, x, y: ops.where(condition, call.cast(x), call.cast(y)),
    "copy": lambda call, x, y, _=False: expanded(call.cast(y), x.shape),
    "fmax": _where_known(ops.maximum),
    "fmin": _where_known(ops.minimum),
    "angle": lambda call, x: ops.where(ops.less(x, 0), math.pi, ops.where(_none(x), call.cast(x), call.cast(0))),
    "hardshrink_backward softshrink_backward": lambda _, dy, x, k: ops.where(ops.less_equal(ops.abs(x), k), 0, dy),
})  # fmt: skip


@computes("abs")
def _(call: Call, x: Any) -> Any:
    return x if np.dtype(x.dtype).kind in "ub" else ops.abs(x)


@computes("neg")
def _(call: Call, x: Any) -> Any:
    return ops.sub(call.cast(0), x) if is_integer(x) else ops.negative(x)


@computes("sign")
def _(call: Call, x: Any) -> Any:
    if x.dtype == np.bool_:
        return x
    if not is_integer(x):
        return ops.sign(x)
    return ops.sub(call.cast(ops.greater(x, 0)), call.cast(ops.less(x, 0)))


@computes("round.decimals")
def _(call: Call, x: Any, *, decimals: int = 0) -> Any:
    power = call.cast(10.0 ** abs(decimals))
    if is_integer(x):
        return x
    return ops.mul(ops.rint(ops.div(x, power)), power) if decimals < 0 else ops.div(ops.rint(ops.mul(x, power)), power)


@computes("polygamma")
def _(call: Call, order: int, x: Any) -> Any:
    x = call.cast(x)
    if order < 2:
        return (ops.trigamma if order else ops.digamma)(x)
    return ops.mul(ops.zeta(call.filled(x.shape, order + 1), x), (-1) ** (order + 1) * math.factorial(order))


@computes("gelu")
def _(call: Call, x: Any, approximate: str = "none") -> Any:
    return ops.fast_gelu(x) if approximate == "tanh" else ops.gelu(x)


@computes("gelu_backward")
def _(call: Call, dy: Any, x: Any, approximate: str = "none") -> Any:
    gradient = ops.fast_gelu_backward_with_dy_x if approximate == "tanh" else ops.gelu_backward_with_dy_x
    return gradient(dy, x)


@computes("hardtanh")
def _(call: Call, x: Any, least: float = -1, most: float = 1) -> Any:
    if is_integer(x):
        return ops.minimum(ops.maximum(x, call.cast(least)), call.cast(most))
    return ops.hard_tanh(x, float(least), float(most))


@computes("elu")
def _(call: Call, x: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    if scale == input_scale == 1:
        return ops.elu(x, float(alpha))
    below = ops.mul(ops.expm1(ops.mul(x, float(input_scale))), float(alpha * scale))
    return ops.where(ops.greater(x, 0), ops.mul(x, float(scale)), below)


@computes("softplus")
def _(call: Call, x: Any, beta: float = 1, threshold: float = 20) -> Any:
    return ops.soft_plus(x, float(beta), float(threshold))


@computes("leaky_relu_backward")
def _(call: Call, dy: Any, x: Any, slope: float, is_result: bool) -> Any:
    return ops.leaky_relu_backward_with_dy_x(dy, x, float(slope))


@computes("threshold_backward")
def _(call: Call, dy: Any, x: Any, threshold: float) -> Any:
    if threshold == 0 and not is_integer(x):
        return ops.relu_backward_with_dy_x(dy, x)
    return ops.where(ops.less_equal(x, call.cast(threshold, x.dtype)), call.cast(0), dy)


def _scaled(call: Call, x: Any, alpha: Any) -> Any:
    """Return an operand in the type of the result, times a number."""
    x = call.cast(x)
    return x if alpha == 1 else ops.mul(x, call.cast(alpha))


@computes("add.Tensor", "add.Scalar")
def _(call: Call, x: Any, y: Any, alpha: Any = 1) -> Any:
    if call.dtype == np.bool_:
        return ops.logical_or(call.cast(x), call.cast(y) if alpha else call.cast(False))
    return ops.add(call.cast(x), _scaled(call, y, alpha))


@computes("sub.Tensor", "sub.Scalar")
def _(call: Call, x: Any, y: Any, alpha: Any = 1) -> Any:
    return ops.sub(call.cast(x), _scaled(call, y, alpha))


@computes("rsub.Tensor", "rsub.Scalar")
def _(call: Call, x: Any, y: Any, alpha: Any = 1) -> Any:
    return ops.sub(call.cast(y), _scaled(call, x, alpha))


@computes("mul.Tensor", "mul.Scalar")
def _(call: Call, x: Any, y: Any) -> Any:
    return (ops.logical_and if call.dtype == np.bool_ else ops.mul)(call.cast(x), call.cast(y))


@computes("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode")
def _(call: Call, x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    x, y = call.cast(x), call.cast(y)
    if rounding_mode == "floor":
        return ops.floor_div(x, y)
    if rounding_mode == "trunc":
        return ops.trunc_div(x, y) if call.dtype.kind in "iu" else ops.trunc(ops.div(x, y))
    return ops.div(x, y)


@computes("floor_divide")
def _(call: Call, x: Any, y: Any) -> Any:
    return ops.floor_div(call.cast(x), call.cast(y))


_POWERS: Final[dict[Any, Callable[[Any], Any]]] = {
    0.5: ops.sqrt, -0.5: ops.rsqrt, -1: ops.reciprocal, 1: lambda x: x, 2: lambda x: ops.mul(x, x),
}  # fmt: skip


@computes("pow.Tensor_Scalar")
def _(call: Call, x: Any, exponent: Any) -> Any:
    x = call.cast(x)
    if exponent in _POWERS and (not is_integer(x) or exponent in (1, 2)):
        return _POWERS[exponent](x)
    return ops.pow(x, call.cast(exponent))


@computes("pow.Tensor_Tensor", "pow.Scalar")
def _(call: Call, x: Any, y: Any) -> Any:
    return ops.pow(call.cast(x), call.cast(y))


@computes("clamp.default", "clamp.Tensor")
def _(call: Call, x: Any, min: Any = None, max: Any = None) -> Any:
    x = call.cast(x)
    x = x if min is None else ops.maximum(x, call.cast(min))
    return x if max is None else ops.minimum(x, call.cast(max))


def _convert(call: Call, x: Any, dtype: torch.dtype) -> Any:
    return call.cast(x, DTYPES[dtype])
