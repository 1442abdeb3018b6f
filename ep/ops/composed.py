"""Functions of the array API that other operators compute together; `ep.fuse` joins their parts in one kernel."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from ep.common.checks import are_several, as_integer, as_truth, present
from ep.common.primitive.broadcast import broadcast_dims
from ep.include.arrays import Array, ArrayLike
from ep.include.data_type import DataType, as_data_type
from ep.include.number_kind import COMPLEXES, FLOATS, REAL
from ep.include.shown import shown
from ep.ops.composition import composition
from ep.ops.declare.function import FUNCTIONS
from ep.ops.operands import check_real
from ep.ops.shapes import as_axes, from_front
from ep.ops.terms import over_size, viewed


@composition(REAL, elementwise=True, reads=False)
def isclose(
    x: ArrayLike, y: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False, *, out: Any = None
) -> Array:
    """Return whether `|x - y| <= atol + rtol * |y|`, as `numpy.isclose`: `is_close`, or `is_close_equal_nan`.

    x, y, out: as of `is_close`.
    rtol, atol: in NumPy's order. equal_nan: whether two NaNs are equal.
    """
    close = FUNCTIONS["is_close_equal_nan" if as_truth(equal_nan, "equal_nan") else "is_close"]
    return close(x, y, rtol=rtol, atol=atol) if out is None else close(x, y, rtol=rtol, atol=atol, out=out)


@composition(REAL, elementwise=True, reads=False)
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


@composition(FLOATS, elementwise=True)
def hypot(x: ArrayLike, y: ArrayLike) -> Array:
    """Return `sqrt(x * x + y * y)`, as `numpy.hypot`: without overflow, and infinity if one operand is infinite.

    x, y: arrays of one floating type; a number gets the dtype of the other operand.
    """
    x, y = FUNCTIONS["abs"](x), FUNCTIONS["abs"](y)
    large, small = FUNCTIONS["maximum"](x, y), FUNCTIONS["minimum"](x, y)
    usual = FUNCTIONS["logical_and"](FUNCTIONS["greater"](large, 0), FUNCTIONS["is_finite"](large))
    ratio = FUNCTIONS["div"](small, FUNCTIONS["where"](usual, large, 1))
    length = FUNCTIONS["mul"](large, FUNCTIONS["sqrt"](FUNCTIONS["add"](FUNCTIONS["mul"](ratio, ratio), 1)))
    # maximum is NaN beside a NaN
    infinite = [FUNCTIONS["equal"](one, math.inf) for one in (x, y)]
    return FUNCTIONS["where"](FUNCTIONS["logical_or"](*infinite), math.inf, length)


@composition(FLOATS, elementwise=True)
def logaddexp(x: ArrayLike, y: ArrayLike) -> Array:
    """Return `log(exp(x) + exp(y))`, as `numpy.logaddexp`, without overflow.

    x, y: arrays of one floating type; a number gets the dtype of the other operand.
    """
    below = FUNCTIONS["negative"](FUNCTIONS["abs"](FUNCTIONS["sub"](x, y)))
    below = FUNCTIONS["where"](FUNCTIONS["equal"](x, y), 0, below)  # also of equal infinities
    return FUNCTIONS["add"](FUNCTIONS["maximum"](x, y), FUNCTIONS["log1p"](FUNCTIONS["exp"](below)))


@composition()
def var(
    x: ArrayLike, axis: int | tuple[int, ...] | None = None, *, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return the variance along axes, as `numpy.var`: the mean of squared differences from the mean.

    x: array of any type. axis, keepdims: as of `mean`.
    correction: how much less than the number of elements the sum of squares is divided by: 1 for a sample.

    The result has the dtype of the mean: float64 for integers and bool. That of complex numbers is real. Numbers of 16
    bits are computed in float32, and rounded once.
    """
    correction = present(correction)
    check_real(correction, "correction")
    given, size = as_data_type(x.dtype), x.size
    if given not in FLOATS + COMPLEXES:
        x = FUNCTIONS["cast"](x, "float64")
    elif given in (DataType.kFloat16, DataType.kBFloat16):
        x = FUNCTIONS["cast"](x, "float32")
    mean = FUNCTIONS["mean"](x, axis, keepdims=True)
    away = FUNCTIONS["sub"](x, mean)
    if given in COMPLEXES:
        squares = FUNCTIONS["real"](FUNCTIONS["mul"](away, FUNCTIONS["conj"](away)))
    else:
        squares = FUNCTIONS["mul"](away, away)
    count = size // mean.size if mean.size else 0
    rest = count - correction
    total = FUNCTIONS["sum"](squares, axis, keepdims=keepdims)
    found = over_size(total, rest if rest > 0 else 0)
    return FUNCTIONS["cast"](found, given.dtype) if given in FLOATS and found.dtype != given.dtype else found


@composition()
def std(
    x: ArrayLike, axis: int | tuple[int, ...] | None = None, *, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return the standard deviation along axes, as `numpy.std`: the root of `var`, which has the same arguments.

    Its gradient is NaN where all numbers are equal, as in JAX: the root has no slope there. PyTorch gives 0.
    """
    return FUNCTIONS["sqrt"](var(x, axis, correction=correction, keepdims=keepdims))


@composition()
def vecdot(x1: ArrayLike, x2: ArrayLike, *, axis: int = -1) -> Array:
    """Return the products of vectors along an axis, as `numpy.vecdot`: the sum of `conj(x1) * x2`.

    x1, x2: arrays of one dtype, whose other axes broadcast. axis: it has the same size in both; counted from the front,
    only if both have as many axes.

    The result has their dtype.
    """
    dtype, shapes, last = x1.dtype, [tuple(x1.shape), tuple(x2.shape)], as_integer(axis, "axis")
    num_axes = [len(shape) for shape in shapes]
    if last >= 0 and num_axes[0] != num_axes[1]:
        raise ValueError(f"axis is {last}, x1 has {num_axes[0]} axes, x2 has {num_axes[1]}; count it from the last")
    sizes = [shape[from_front(last, "axis", count, count)] for shape, count in zip(shapes, num_axes, strict=True)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"x1 has {sizes[0]} elements along axis {last}, x2 has {sizes[1]}")
    broadcast_dims(*shapes, names=("x1", "x2"))
    if last >= 0:
        last -= num_axes[0]
    if as_data_type(dtype) in COMPLEXES:
        x1 = FUNCTIONS["conj"](x1)
    return FUNCTIONS["sum"](FUNCTIONS["mul"](x1, x2), last, dtype)


@composition(FLOATS + COMPLEXES)
def tensordot(x1: ArrayLike, x2: ArrayLike, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Return the sums of products along pairs of axes, as `numpy.tensordot`: one product of matrices.

    x1, x2: arrays of one dtype that `matmul` takes.
    axes: the axes of x1 and those of x2, in pairs; or how many of the last ones of x1 and of the first ones of x2.
    """
    a, b = tuple(x1.shape), tuple(x2.shape)
    num_a, num_b = len(a), len(b)
    if are_several(axes):
        given = [*axes]
        if len(given) != 2:
            raise ValueError(f"axes is {shown(axes)}; it must be a number, or the axes of x1 and those of x2")
        of_a, of_b = [*as_axes(given[0], "axes[0]", num_a)], [*as_axes(given[1], "axes[1]", num_b)]
    else:
        count = as_integer(axes, "axes")
        if not 0 <= count <= builtins.min(num_a, num_b):
            raise ValueError(f"axes is {count}; x1 has {num_a} axes, x2 has {num_b}")
        of_a, of_b = [*range(num_a - count, num_a)], [*range(count)]
    if [a[one] for one in of_a] != [b[one] for one in of_b]:
        raise ValueError(f"axes {of_a} of x1, of shape {a}, do not fit {of_b} of x2, {b}")
    rest_a = [one for one in range(num_a) if one not in of_a]
    rest_b = [one for one in range(num_b) if one not in of_b]
    rows, columns = [a[one] for one in rest_a], [b[one] for one in rest_b]
    inner = math.prod(a[one] for one in of_a)
    left = viewed(FUNCTIONS["permute"](x1, rest_a + of_a), (math.prod(rows), inner))
    right = viewed(FUNCTIONS["permute"](x2, of_b + rest_b), (inner, math.prod(columns)))
    return viewed(FUNCTIONS["matmul"](left, right), (*rows, *columns))
