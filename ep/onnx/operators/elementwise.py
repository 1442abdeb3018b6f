"""Elementwise operators."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from onnx import TensorProto

from ep import ops
from ep.include.primitive.op_table import OPS, function_name
from ep.onnx.operators.fitting import check, check_broadcasts
from ep.onnx.operators.line import line, one_of
from ep.onnx.operators.shapes import check_type
from ep.onnx.operators.types import in_float32
from ep.onnx.types import dtype_of

_SLOPE: Final = 2 * math.sqrt(2 / math.pi)


def named(name: str) -> Callable[..., Any]:
    """Return the function `name` of `ep.ops`, which is made when it is first called: a model needs few of them."""

    def call(*inputs: Any, **attributes: Any) -> Any:
        return getattr(ops, name)(*inputs, **attributes)

    return call


def folded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of one or more arrays: it applies `function` to the first two, to the result and the third, and
    so on."""

    def call(first: Any, *others: Any) -> Any:
        return functools.reduce(function, others, first)

    return call


def attribute(value: float, x: Any) -> float:
    """Return an attribute in the dtype of x, as ONNX's Cast converts it: infinite beyond the range of the type."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float64(value).astype(x.dtype))


def whole(argument: str, value: float, dtype: Any) -> int:
    """Return an attribute without the part behind the point, modulo the range of an integer type; ValueError if it is
    not finite."""
    check(math.isfinite(value), argument, value, "finite for integers")
    return int(np.array(int(value) % 2**64, np.uint64).astype(dtype))


@line("Mean", 6)
@in_float32
def mean(*inputs: Any) -> Any:
    """Return the elementwise mean of arrays."""
    return ops.div(functools.reduce(ops.add, inputs), len(inputs))


@line("Div", 7)
def div(x: Any, y: Any) -> Any:
    """Return `x / y`; integer quotients are truncated."""
    return ops.trunc_div(x, y) if x.dtype.kind in "iu" else ops.div(x, y)


@line("Mod", 10)
def mod(x: Any, y: Any, fmod: int) -> Any:
    """Return the remainder, with the sign of y, or with the sign of x if `fmod`."""
    return ops.fmod(x, y) if fmod else ops.floor_mod(x, y)


@line("Neg", 6)
def negative(x: Any) -> Any:
    """Return `-x`."""
    return ops.sub(0, x) if x.dtype.kind in "iu" else ops.negative(x)


@line("BitShift", 11, check=one_of(direction=("LEFT", "RIGHT")))
def bit_shift(x: Any, y: Any, direction: str) -> Any:
    """Return x shifted by y bits; 0 where y is negative or at least the number of bits."""
    bits = 8 * x.dtype.itemsize
    y = ops.where(ops.less(y, 0), bits, ops.minimum(y, bits))
    half = ops.floor_div(y, 2)  # 2 to the number of bits does not fit in the type
    for by in (half, ops.sub(y, half)):
        power_of_2 = ops.pow(2, by)
        x = ops.mul(x, power_of_2) if direction == "LEFT" else ops.floor_div(x, power_of_2)
    return x


def _check_cast(to: int, **_: Any) -> None:
    if to != TensorProto.STRING:  # a Cast of strings to strings is replaced: see `ep.onnx.texts`
        check_type(to)


@line("Cast", 6, check=_check_cast)
def cast(x: Any, to: int, **_: Any) -> Any:
    """Return x in the type with ONNX's number `to`."""
    return ops.cast(x, dtype_of(to))


@line("CastLike", 15)
def cast_like(x: Any, like: Any, **_: Any) -> Any:
    """Return x in the dtype of another array."""
    return ops.cast(x, like.dtype)


@line("Clip", 6, attributes=("min", "max"))
def clip_to(x: Any, least: float, most: float) -> Any:
    """Return x, limited to two attributes."""
    return clip(x, attribute(least, x), attribute(most, x))


@line("Clip", 11)
def clip(x: Any, least: Any = None, most: Any = None) -> Any:
    """Return x, limited to `least` to `most`."""
    x = x if least is None else ops.maximum(x, _bound("min", least))
    return x if most is None else ops.minimum(x, _bound("max", most))


def _bound(argument: str, bound: Any) -> Any:
    """Return a bound without axes; ValueError for several numbers."""
    shape = tuple(getattr(bound, "shape", ()))
    check(math.prod(shape) == 1, f"{argument} of shape", shape, "one number")
    return bound.reshape(()) if shape else bound


@line("Dropout", 7)
def dropout_7(x: Any, ratio: float) -> Any:
    """Return x, and a mask that is 1 everywhere, in the dtype of x."""
    return x, ops.full(x.shape, 1, x.dtype)


@line("Dropout", 10, false=2)
def dropout(x: Any, ratio: Any = None, training_mode: Any = None, **_: Any) -> Any:
    """Return x, and a mask that is true everywhere: models are not trained here, so nothing is dropped."""
    return x, ops.full(x.shape, True, bool)


@line("Erf", 9)
def erf(x: Any) -> Any:
    """Return the error function; of integers, without the part behind the point."""
    return ops.erf(x) if x.dtype.kind not in "iu" else ops.cast(ops.erf(ops.cast(x, np.float64)), x.dtype)


@line("Gelu", 20, check=one_of(approximate=("none", "tanh")))
def gelu(x: Any, approximate: str) -> Any:
    """Return gelu, or its approximation by tanh if `approximate` is "tanh"."""
    if approximate != "tanh":
        return ops.gelu(x)
    if x.dtype != np.float64:
        return ops.fast_gelu(x)
    cubes = ops.mul(ops.mul(x, x), ops.mul(x, 0.044715))  # `fast_gelu` has this number in float32, as OneFlow does
    return ops.where(ops.less(x, -40.0), -0.0, ops.mul(x, ops.sigmoid(ops.mul(ops.add(x, cubes), _SLOPE))))


@line("HardSigmoid", 6)
def hard_sigmoid(x: Any, alpha: float, beta: float) -> Any:
    """Return `alpha x + beta`, limited to 0 to 1."""
    return clip(ops.add(ops.mul(x, attribute(alpha, x)), attribute(beta, x)), 0.0, 1.0)


@line("IsInf", 10)
def is_inf(x: Any, detect_negative: int, detect_positive: int) -> Any:
    """Return whether each x is infinite, with one of the requested signs."""
    found = ops.is_inf(x)
    if not detect_negative:
        found = ops.logical_and(found, ops.greater(x, 0.0))
    return found if detect_positive else ops.logical_and(found, ops.less(x, 0.0))


@line("PRelu", 7)
def prelu(x: Any, slope: Any) -> Any:
    """Return x, multiplied by a slope where x is negative."""
    check_broadcasts("slope", slope, x.shape)
    return ops.where(ops.less(x, 0), ops.mul(x, slope), x)


@line("Selu", 6)
def selu(x: Any, alpha: float, gamma: float) -> Any:
    """Return `gamma` times elu."""
    return ops.mul(ops.elu(x, alpha), gamma)


@line("Shrink", 9)
def shrink(x: Any, bias: float, lambd: float) -> Any:
    """Return `x + bias` for x below -lambd, else `x - bias` for x above lambd, else 0."""
    if x.dtype.kind in "iu":
        return _shrink_integers(x, whole("bias", bias, x.dtype), lambd)
    bias, lambd = attribute(bias, x), attribute(lambd, x)
    above = ops.where(ops.greater(x, lambd), ops.sub(x, bias), 0)
    return ops.where(ops.less(x, -lambd), ops.add(x, bias), above)


def _shrink_integers(x: Any, bias: int, lambd: float) -> Any:
    info, most = np.iinfo(x.dtype), 2.0**65  # beyond all integers
    lambd = most if math.isnan(lambd) else min(max(lambd, -most), most)
    last_below, first_above, result = math.ceil(-lambd) - 1, math.floor(lambd) + 1, None
    if first_above <= info.max:
        result = ops.where(ops.greater_equal(x, max(first_above, info.min)), ops.sub(x, bias), 0)
    if last_below >= info.min:
        rest = 0 if result is None else result
        result = ops.where(ops.less_equal(x, min(last_below, info.max)), ops.add(x, bias), rest)
    return ops.sub(x, x) if result is None else result


@line("Sign", 9)
def sign(x: Any) -> Any:
    """Return 1, 0 or -1 for numbers above 0, equal to 0 or NaN, and below 0."""
    return ops.sign(x) if x.dtype.kind not in "iu" else clip(x, None if x.dtype.kind == "u" else -1, 1)


@line("Swish", 24)
@in_float32
def swish(x: Any, alpha: float) -> Any:
    """Return `x sigmoid(alpha x)`."""
    return ops.mul(x, ops.sigmoid(ops.mul(x, attribute(alpha, x))))


@line("ThresholdedRelu", 10)
def thresholded_relu(x: Any, alpha: float) -> Any:
    """Return x where it is above `alpha`, else 0, also for NaN."""
    return ops.where(ops.greater(x, attribute(alpha, x)), x, 0.0)


line("Max", 6)(folded(ops.maximum))
line("Min", 6)(folded(ops.minimum))
line("Sum", 6)(folded(ops.add))
line("Where", 6)(ops.where)
for _op, _row in OPS.items():
    if _row.onnx:
        line(_row.onnx, 6)(named(function_name(_op)))
