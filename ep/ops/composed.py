"""Functions of the array API that other operators compute together; `ep.fuse` joins their parts in one kernel."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.common.arrays.checks import as_scalar, is_weak
from ep.common.checks import as_integer
from ep.include.arrays import Array, ArrayLike, LaterNumber
from ep.include.data_type import DataType, as_data_type
from ep.include.number_kind import COMPLEXES, FLOATS
from ep.include.shown import shown
from ep.ops.declare.function import FUNCTIONS, composition
from ep.ops.devices import arrays_of, as_operand
from ep.ops.gradients.vjp import over_size
from ep.ops.operands import is_number
from ep.ops.shaped import viewed
from ep.ops.shapes import from_front


@composition
def isclose(
    x: ArrayLike, y: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False, *, out: Any = None
) -> Array:
    """Return whether `|x - y| <= atol + rtol * |y|`, as `numpy.isclose`: `is_close`, or `is_close_equal_nan`.

    x, y, out: as of `is_close`.
    rtol, atol: in NumPy's order. equal_nan: whether two NaNs are equal.
    """
    if not isinstance(equal_nan, bool):
        raise TypeError(f"equal_nan must be True or False, not {shown(equal_nan)}")
    close = FUNCTIONS["is_close_equal_nan" if equal_nan else "is_close"]
    return close(x, y, rtol=rtol, atol=atol) if out is None else close(x, y, rtol=rtol, atol=atol, out=out)


@composition
def clip(x: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = None, *, out: Any = None) -> Array:
    """Return `minimum(maximum(x, min), max)`, as `numpy.clip`; None is no bound.

    x: array of integers, bool or a floating type. min, max: numbers, or arrays of the same dtype that broadcast.
    out: where to put the result, an array of its shape and dtype.

    A NaN in one of them spreads. Where a bound is larger than the upper one, the upper one holds.
    """
    bounds = [(name, one) for name, one in (("maximum", min), ("minimum", max)) if one is not None]
    for k, (name, bound) in enumerate(bounds):
        last = {"out": out} if k == len(bounds) - 1 and out is not None else {}
        x = FUNCTIONS[name](x, bound, **last)
    return x if bounds else FUNCTIONS["identity"](x, **({} if out is None else {"out": out}))


@composition
def hypot(x: ArrayLike, y: ArrayLike) -> Array:
    """Return `sqrt(x * x + y * y)`, as `numpy.hypot`: without overflow, and infinity if one operand is infinite.

    x, y: arrays of one floating type; a number gets the dtype of the other operand.
    """
    arrays = arrays_of((x, y), ("x", "y"))
    for one, name in ((x, "x"), (y, "y")):
        if isinstance(one, LaterNumber):
            is_complex = np.iscomplexobj(one.value)
        else:
            is_complex = np.iscomplexobj(one) if is_number(one) else arrays.as_buffer(one, name).dtype.kind == "c"
        if is_complex:
            raise TypeError(f"{name} is complex; it must be real")
    x, y = (one if is_number(one) else FUNCTIONS["abs"](one) for one in (x, y))
    x, y = (abs(one) if is_number(one) else one for one in (x, y))
    large, small = FUNCTIONS["maximum"](x, y), FUNCTIONS["minimum"](x, y)
    usual = FUNCTIONS["logical_and"](FUNCTIONS["greater"](large, 0), FUNCTIONS["is_finite"](large))
    ratio = FUNCTIONS["div"](small, FUNCTIONS["where"](usual, large, 1))
    length = FUNCTIONS["mul"](large, FUNCTIONS["sqrt"](FUNCTIONS["add"](FUNCTIONS["mul"](ratio, ratio), 1)))
    # maximum is NaN beside a NaN
    infinite = [FUNCTIONS["equal"](one, math.inf) for one in (x, y)]
    return FUNCTIONS["where"](FUNCTIONS["logical_or"](*infinite), math.inf, length)


@composition
def logaddexp(x: ArrayLike, y: ArrayLike) -> Array:
    """Return `log(exp(x) + exp(y))`, as `numpy.logaddexp`, without overflow.

    x, y: arrays of one floating type; a number gets the dtype of the other operand.
    """
    below = FUNCTIONS["negative"](FUNCTIONS["abs"](FUNCTIONS["sub"](x, y)))
    below = FUNCTIONS["where"](FUNCTIONS["equal"](x, y), 0, below)  # also of equal infinities
    return FUNCTIONS["add"](FUNCTIONS["maximum"](x, y), FUNCTIONS["log1p"](FUNCTIONS["exp"](below)))


@composition
def var(
    x: ArrayLike, axis: int | tuple[int, ...] | None = None, *, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return the variance along axes, as `numpy.var`: the mean of squared differences from the mean.

    x: array of any type. axis, keepdims: as of `mean`.
    correction: how much less than the number of elements the sum of squares is divided by: 1 for a sample.

    The result has the dtype of the mean: float64 for integers and bool. That of complex numbers is real. Numbers of 16
    bits are computed in float32, and rounded once.
    """
    if isinstance(correction, LaterNumber):
        correction = correction.pinned()
    if not is_weak(as_scalar(correction)) or np.iscomplexobj(correction):
        raise TypeError(f"correction must be a real number, not {shown(correction)}")
    array, buffer = as_operand(arrays_of((x,), ("x",)), x, "x")
    given = as_data_type(buffer.dtype)
    if given not in FLOATS + COMPLEXES:
        array = FUNCTIONS["cast"](array, "float64")
    elif given in (DataType.kFloat16, DataType.kBFloat16):
        array = FUNCTIONS["cast"](array, "float32")
    mean = FUNCTIONS["mean"](array, axis, keepdims=True)
    away = FUNCTIONS["sub"](array, mean)
    if given in COMPLEXES:
        squares = FUNCTIONS["real"](FUNCTIONS["mul"](away, FUNCTIONS["conj"](away)))
    else:
        squares = FUNCTIONS["mul"](away, away)
    count = buffer.size // mean.size if mean.size else 0
    rest = count - correction
    total = FUNCTIONS["sum"](squares, axis, keepdims=keepdims)
    found = over_size(total, rest if rest > 0 else 0)
    return FUNCTIONS["cast"](found, given.dtype) if given in FLOATS and found.dtype != given.dtype else found


@composition
def std(
    x: ArrayLike, axis: int | tuple[int, ...] | None = None, *, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return the standard deviation along axes, as `numpy.std`: the root of `var`, which has the same arguments."""
    return FUNCTIONS["sqrt"](var(x, axis, correction=correction, keepdims=keepdims))


@composition
def vecdot(x1: ArrayLike, x2: ArrayLike, *, axis: int = -1) -> Array:
    """Return the products of vectors along an axis, as `numpy.vecdot`: the sum of `conj(x1) * x2`.

    x1, x2: arrays of one dtype, whose other axes broadcast. axis: it has the same size in both; counted from the front,
    only if both have as many axes.

    The result has their dtype.
    """
    arrays = arrays_of((x1, x2), ("x1", "x2"))
    (given, a), (other, b) = as_operand(arrays, x1, "x1"), as_operand(arrays, x2, "x2")
    place = as_integer(axis, "axis")
    if place >= 0 and len(a.shape) != len(b.shape):
        raise ValueError(f"axis is {place}, x1 has {len(a.shape)} axes, x2 has {len(b.shape)}; count it from the last")
    sizes = [one.shape[from_front(place, "axis", len(one.shape), len(one.shape))] for one in (a, b)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"x1 has {sizes[0]} elements along axis {place}, x2 has {sizes[1]}")
    if place >= 0:
        place -= len(a.shape)
    if as_data_type(a.dtype) in COMPLEXES:
        given = FUNCTIONS["conj"](given)
    return FUNCTIONS["sum"](FUNCTIONS["mul"](given, other), place, a.dtype)


@composition
def tensordot(x1: ArrayLike, x2: ArrayLike, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Return the sums of products along pairs of axes, as `numpy.tensordot`: one product of matrices.

    x1, x2: arrays of one dtype that `matmul` takes.
    axes: the axes of x1 and those of x2, in pairs; or how many of the last ones of x1 and of the first ones of x2.
    """
    arrays = arrays_of((x1, x2), ("x1", "x2"))
    (first, a), (second, b) = as_operand(arrays, x1, "x1"), as_operand(arrays, x2, "x2")
    num_a, num_b = len(a.shape), len(b.shape)
    if isinstance(axes, Sequence):
        if len(axes) != 2:
            raise ValueError(f"axes is {shown(axes)}; it must be a number, or the axes of x1 and those of x2")
        given = [[one] if isinstance(one, int) else [*one] for one in axes]
    else:
        count = as_integer(axes, "axes")
        if not 0 <= count <= builtins.min(num_a, num_b):
            raise ValueError(f"axes is {count}; x1 has {num_a} axes, x2 has {num_b}")
        given = [[*range(num_a - count, num_a)], [*range(count)]]
    of_a = [from_front(one, "axes[0]", num_a, num_a) for one in given[0]]
    of_b = [from_front(one, "axes[1]", num_b, num_b) for one in given[1]]
    if [a.shape[one] for one in of_a] != [b.shape[one] for one in of_b] or len({*of_a}) < len(of_a):
        raise ValueError(f"axes {of_a} of x1, of shape {tuple(a.shape)}, do not fit {of_b} of x2, {tuple(b.shape)}")
    rest_a = [one for one in range(num_a) if one not in of_a]
    rest_b = [one for one in range(num_b) if one not in of_b]
    rows, columns = [a.shape[one] for one in rest_a], [b.shape[one] for one in rest_b]
    inner = math.prod(a.shape[one] for one in of_a)
    left = viewed(FUNCTIONS["permute"](first, rest_a + of_a), (math.prod(rows), inner))
    right = viewed(FUNCTIONS["permute"](second, of_b + rest_b), (inner, math.prod(columns)))
    return viewed(FUNCTIONS["matmul"](left, right), (*rows, *columns))
