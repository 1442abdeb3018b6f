"""Elementwise operators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ep import ops
from ep.onnx.types import dtype_of

PLAIN: Final[dict[str, Callable[..., Any]]] = {
    "Abs": ops.abs,
    "Acos": ops.acos,
    "Acosh": ops.acosh,
    "Add": ops.add,
    "And": ops.logical_and,
    "Asin": ops.asin,
    "Asinh": ops.asinh,
    "Atan": ops.atan,
    "Atanh": ops.atanh,
    "BitwiseAnd": ops.bitwise_and,
    "BitwiseNot": ops.bitwise_not,
    "BitwiseOr": ops.bitwise_or,
    "BitwiseXor": ops.bitwise_xor,
    "Ceil": ops.ceil,
    "Cos": ops.cos,
    "Cosh": ops.cosh,
    "Equal": ops.equal,
    "Erf": ops.erf,
    "Exp": ops.exp,
    "Floor": ops.floor,
    "Greater": ops.greater,
    "GreaterOrEqual": ops.greater_equal,
    "HardSwish": ops.hard_swish,
    "Identity": ops.identity,
    "IsNaN": ops.is_nan,
    "Less": ops.less,
    "LessOrEqual": ops.less_equal,
    "Log": ops.log,
    "Mish": ops.mish,
    "Mul": ops.mul,
    "Not": ops.logical_not,
    "Or": ops.logical_or,
    "Reciprocal": ops.reciprocal,
    "Relu": ops.relu,
    "Round": ops.rint,
    "Sigmoid": ops.sigmoid,
    "Sign": ops.sign,
    "Sin": ops.sin,
    "Sinh": ops.sinh,
    "Softplus": ops.soft_plus,
    "Softsign": ops.soft_sign,
    "Sqrt": ops.sqrt,
    "Sub": ops.sub,
    "Tan": ops.tan,
    "Tanh": ops.tanh,
    "Where": ops.where,
    "Xor": ops.logical_xor,
}
"""The functions that are equal to ONNX's operators, by ONNX's names."""


def folded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of one or more arrays: it applies `function` to the first two, to the result and the third, and
    so on."""

    def call(first: Any, *others: Any) -> Any:
        return functools.reduce(function, others, first)

    return call


def mean(*inputs: Any) -> Any:
    """Return the elementwise mean of arrays."""
    return ops.div(functools.reduce(ops.add, inputs), len(inputs))


def div(x: Any, y: Any) -> Any:
    """Return `x / y`; integer quotients are truncated."""
    return ops.trunc_div(x, y) if x.dtype.kind in "iu" else ops.div(x, y)


def mod(x: Any, y: Any, fmod: int) -> Any:
    """Return the remainder, with the sign of y, or with the sign of x if `fmod`."""
    return ops.fmod(x, y) if fmod else ops.floor_mod(x, y)


def power(x: Any, y: Any) -> Any:
    """Return `x ** y` in the dtype of x."""
    if x.dtype == y.dtype:
        return ops.pow(x, y)
    wide = np.result_type(x.dtype, y.dtype) if x.dtype.kind in "iu" else x.dtype
    return ops.cast(ops.pow(ops.cast(x, wide), ops.cast(y, wide)), x.dtype)


def negative(x: Any) -> Any:
    """Return `-x`."""
    return ops.sub(0, x) if x.dtype.kind in "iu" else ops.negative(x)


def bit_shift(x: Any, y: Any, direction: str) -> Any:
    """Return x shifted by y bits; 0 where y is negative or at least the number of bits."""
    bits = 8 * x.dtype.itemsize
    y = ops.where(ops.less(y, 0), bits, ops.minimum(y, bits))
    half = ops.floor_div(y, 2)  # 2 to the number of bits does not fit in the type
    for by in (half, ops.sub(y, half)):
        power_of_2 = ops.pow(2, by)
        x = ops.mul(x, power_of_2) if direction == "LEFT" else ops.floor_div(x, power_of_2)
    return x


def cast(x: Any, to: int, **_: Any) -> Any:
    """Return x in the type with ONNX's number `to`."""
    return ops.cast(x, dtype_of(to))


def cast_like(x: Any, like: Any, **_: Any) -> Any:
    """Return x in the dtype of another array."""
    return ops.cast(x, like.dtype)


def clip(x: Any, least: Any = None, most: Any = None) -> Any:
    """Return x, limited to `least` to `most`."""
    x = x if least is None else ops.maximum(x, least)
    return x if most is None else ops.minimum(x, most)


def dropout(x: Any, ratio: Any = None, training_mode: Any = None, **_: Any) -> Any:
    """Return x, and a mask that is true everywhere: models are not trained here, so nothing is dropped."""
    return x, ops.full(x.shape, True, bool)


def gelu(x: Any, approximate: str) -> Any:
    """Return gelu, or its approximation by tanh if `approximate` is "tanh"."""
    return ops.fast_gelu(x) if approximate == "tanh" else ops.gelu(x)


def hard_sigmoid(x: Any, alpha: float, beta: float) -> Any:
    """Return `alpha x + beta`, limited to 0 to 1."""
    return clip(ops.add(ops.mul(x, alpha), beta), 0.0, 1.0)


def is_inf(x: Any, detect_negative: int, detect_positive: int) -> Any:
    """Return whether each x is infinite, with one of the requested signs."""
    found = ops.is_inf(x)
    if not detect_negative:
        found = ops.logical_and(found, ops.greater(x, 0.0))
    return found if detect_positive else ops.logical_and(found, ops.less(x, 0.0))


def prelu(x: Any, slope: Any) -> Any:
    """Return x, multiplied by a slope where x is negative."""
    return ops.where(ops.less(x, 0), ops.mul(x, slope), x)


def selu(x: Any, alpha: float, gamma: float) -> Any:
    """Return `gamma` times elu."""
    return ops.mul(ops.elu(x, alpha), gamma)


def shrink(x: Any, bias: float, lambd: float) -> Any:
    """Return x moved by `bias` towards 0, and 0 for x from -lambd to lambd."""
    if x.dtype.kind in "iu":
        bias, lambd = int(bias), int(lambd)
    below = ops.where(ops.less(x, -lambd), ops.add(x, bias), 0)
    return ops.where(ops.greater(x, lambd), ops.sub(x, bias), below)


def swish(x: Any, alpha: float) -> Any:
    """Return `x sigmoid(alpha x)`."""
    return ops.mul(x, ops.sigmoid(ops.mul(x, alpha)))


def thresholded_relu(x: Any, alpha: float) -> Any:
    """Return x where it is above `alpha`, else 0."""
    return ops.threshold(x, alpha, 0.0)
