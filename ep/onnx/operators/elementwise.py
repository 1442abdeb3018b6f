"""Operators that go element by element."""

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
"""The functions that mean what ONNX means, by its names."""


def of_inputs(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` without ONNX's attributes, of which the operator has none that changes its meaning."""

    @functools.wraps(function)
    def call(*inputs: Any, **_: Any) -> Any:
        return function(*inputs)

    return call


def folded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of one array or more: `function` of the first two, of that and the third, and so on."""

    def call(first: Any, *others: Any) -> Any:
        return functools.reduce(function, others, first)

    return call


def mean(*inputs: Any) -> Any:
    """Return the mean of arrays, element by element."""
    return ops.div(functools.reduce(ops.add, inputs), len(inputs))


def div(x: Any, y: Any) -> Any:
    """Return `x / y`; of integers without the fraction."""
    return ops.trunc_div(x, y) if np.dtype(x.dtype).kind in "iu" else ops.div(x, y)


def mod(x: Any, y: Any, fmod: int) -> Any:
    """Return the remainder, with the sign of y, or if `fmod` of x."""
    return ops.fmod(x, y) if fmod else ops.floor_mod(x, y)


def power(x: Any, y: Any) -> Any:
    """Return `x ** y` in the dtype of x."""
    if x.dtype == y.dtype:
        return ops.pow(x, y)
    wide = np.result_type(x.dtype, y.dtype) if x.dtype.kind in "iu" else x.dtype
    return ops.cast(ops.pow(ops.cast(x, wide), ops.cast(y, wide)), x.dtype)


def negative(x: Any) -> Any:
    """Return `-x`."""
    return ops.sub(_like(x, 0), x) if x.dtype.kind in "iu" else ops.negative(x)


def bit_shift(x: Any, y: Any, direction: str) -> Any:
    """Return the bits of x, y places farther on; all of them are gone where y is negative or as large as there are."""
    bits = _like(x, 8 * x.dtype.itemsize)
    y = ops.where(ops.less(y, _like(x, 0)), bits, ops.minimum(y, bits))
    half = ops.floor_div(y, _like(x, 2))  # a power of 2 that is all bits of the type does not fit
    for by in (half, ops.sub(y, half)):
        power_of_2 = ops.pow(_like(x, 2), by)
        x = ops.mul(x, power_of_2) if direction == "LEFT" else ops.floor_div(x, power_of_2)
    return x


def cast(x: Any, to: int, **_: Any) -> Any:
    """Return x in the type that ONNX has the number `to` for."""
    return ops.cast(x, dtype_of(to))


def cast_like(x: Any, like: Any, **_: Any) -> Any:
    """Return x in the dtype of another array."""
    return ops.cast(x, like.dtype)


def clip(x: Any, least: Any = None, most: Any = None) -> Any:
    """Return x, not below `least` and not above `most`."""
    x = x if least is None else ops.maximum(x, least)
    return x if most is None else ops.minimum(x, most)


def clip_by_attributes(x: Any, min: float, max: float) -> Any:
    """Return x, not below `min` and not above `max`."""
    return ops.minimum(ops.maximum(x, min), max)


def dropout(x: Any, ratio: Any = None, training_mode: Any = None, **_: Any) -> Any:
    """Return x, and that nothing of it was dropped: models are not trained here."""
    return x, ops.full(x.shape, True, bool)


def gelu(x: Any, approximate: str) -> Any:
    """Return gelu, or if `approximate` says so, what approximates it by tanh."""
    return ops.fast_gelu(x) if approximate == "tanh" else ops.gelu(x)


def hard_sigmoid(x: Any, alpha: float, beta: float) -> Any:
    """Return `alpha x + beta`, not below 0 and not above 1."""
    return clip_by_attributes(ops.add(ops.mul(x, alpha), beta), 0.0, 1.0)


def is_inf(x: Any, detect_negative: int, detect_positive: int) -> Any:
    """Return where x is infinite, of the signs that are looked for."""
    found = ops.is_inf(x)
    if not detect_negative:
        found = ops.logical_and(found, ops.greater(x, 0.0))
    return found if detect_positive else ops.logical_and(found, ops.less(x, 0.0))


def prelu(x: Any, slope: Any) -> Any:
    """Return x, times a slope where it is negative."""
    return ops.where(ops.less(x, _like(x, 0)), ops.mul(x, slope), x)


def selu(x: Any, alpha: float, gamma: float) -> Any:
    """Return `gamma` times elu."""
    return ops.mul(ops.elu(x, alpha), gamma)


def shrink(x: Any, bias: float, lambd: float) -> Any:
    """Return x, `bias` nearer to 0, and 0 from -lambd to lambd."""
    zero = ops.sub(x, x)
    below = ops.where(ops.less(x, _like(x, -lambd)), ops.add(x, _like(x, bias)), zero)
    return ops.where(ops.greater(x, _like(x, lambd)), ops.sub(x, _like(x, bias)), below)


def swish(x: Any, alpha: float) -> Any:
    """Return `x sigmoid(alpha x)`."""
    return ops.mul(x, ops.sigmoid(ops.mul(x, alpha)))


def thresholded_relu(x: Any, alpha: float) -> Any:
    """Return x, and 0 where it is not above `alpha`."""
    return ops.threshold(x, alpha, 0.0)


def _like(x: Any, number: float) -> Any:
    """Return a number of the kind that an array has."""
    return int(number) if x.dtype.kind in "iu" else number
