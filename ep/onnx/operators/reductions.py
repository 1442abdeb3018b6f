"""Operators that reduce axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ep import ops
from ep.onnx.operators.fitting import axes_given, axes_in, axis_in, check_places, number
from ep.onnx.operators.line import line
from ep.onnx.operators.placing import placed, places
from ep.onnx.operators.shapes import flatten
from ep.onnx.operators.types import in_float32

NDArray = np.ndarray[Any, Any]
_Reduce = Callable[[Any, Any, bool], Any]
"""A function of an array, the reduced axes, and whether they are kept with one element."""


def _reduction(name: str) -> Callable[[_Reduce], _Reduce]:
    """Return a decorator that makes a function an operator; without axes, all are reduced, or none."""

    def declare(reduce: _Reduce) -> _Reduce:
        @line(name, 1, attributes=("axes",))
        @line(name, 13 if name == "ReduceSum" else 18, host=(1,))
        def call(x: Any, axes: NDArray | None = None, *, keepdims: int, noop_with_empty_axes: int = 0) -> Any:
            rank = len(x.shape)
            given = [] if axes is None else sorted(axes_in(rank, axes_given(axes)))
            if not given and noop_with_empty_axes:
                return reduce(x.reshape((*x.shape, 1)), (rank,), False)
            return reduce(x, tuple(given or range(rank)), bool(keepdims))

        return reduce

    return declare


def _in_floats(reduce: _Reduce) -> _Reduce:
    """Return a function of integers that computes in float64, too."""

    def call(x: Any, axes: Any, keepdims: bool) -> Any:
        if x.dtype.kind not in "iub":
            return reduce(x, axes, keepdims)
        return ops.cast(reduce(ops.cast(x, np.float64), axes, keepdims), x.dtype)

    return call


@_reduction("ReduceL1")
def _l1(x: Any, axes: Any, keepdims: bool) -> Any:
    return _sum(ops.abs(x), axes, keepdims)


@_reduction("ReduceL2")
@_in_floats
def _l2(x: Any, axes: Any, keepdims: bool) -> Any:
    """Return the root of the sum of squares, of all types in float64: squares of float32 numbers may overflow."""
    return ops.cast(ops.sqrt(_sum_square(ops.cast(x, np.float64), axes, keepdims)), x.dtype)


@_reduction("ReduceLogSum")
@_in_floats
@in_float32
def _log_sum(x: Any, axes: Any, keepdims: bool) -> Any:
    return ops.log(_sum(x, axes, keepdims))


@_reduction("ReduceLogSumExp")
@_in_floats
@in_float32
def _log_sum_exp(x: Any, axes: Any, keepdims: bool) -> Any:
    """Return the logarithm of the sum of powers, without overflow."""
    most = _max(x, axes, True)
    most = ops.where(ops.is_finite(most), most, 0.0)
    found = ops.add(ops.log(_sum(ops.exp(ops.sub(x, most)), axes, True)), most)
    return found.reshape(_shape_of(x, axes, keepdims))


@_reduction("ReduceSumSquare")
@in_float32
def _sum_square(x: Any, axes: Any, keepdims: bool) -> Any:
    return _sum(ops.mul(x, x), axes, keepdims)


@_reduction("ReduceMean")
def _mean(x: Any, axes: Any, keepdims: bool) -> Any:
    """Return the mean; that of integers is exact, without the part behind the point."""
    if x.dtype.kind not in "iu":
        return ops.mean(x, axes, keepdims=keepdims)
    if not (count := math.prod(x.shape[axis] for axis in axes)):
        return _sum(x, axes, keepdims)
    dtype = np.dtype(x.dtype)
    wide = dtype if dtype.itemsize == 8 else np.dtype(np.int64)
    x, divisor = ops.cast(x, wide), placed(np.asarray(count, wide), x)
    rest = _sum(ops.floor_mod(x, divisor), axes, keepdims)  # sums of quotients and of remainders do not overflow
    floor = ops.add(_sum(ops.floor_div(x, divisor), axes, keepdims), ops.floor_div(rest, divisor))
    if wide.kind == "i":
        is_above = ops.logical_and(ops.less(floor, 0), ops.not_equal(ops.floor_mod(rest, divisor), 0))
        floor = ops.add(floor, ops.cast(is_above, wide))
    return ops.cast(floor, dtype)


@_reduction("ReduceSum")
def _sum(x: Any, axes: Any, keepdims: bool) -> Any:
    return ops.sum(x, axes, dtype=x.dtype, keepdims=keepdims)


@_reduction("ReduceProd")
def _prod(x: Any, axes: Any, keepdims: bool) -> Any:
    return ops.prod(x, axes, dtype=x.dtype, keepdims=keepdims)


def _extreme(function: Callable[..., Any], sign: int) -> _Reduce:
    """Return the largest or smallest element; without elements, the least or greatest value of the type."""

    def reduce(x: Any, axes: Any, keepdims: bool) -> Any:
        if 0 not in [x.shape[axis] for axis in axes]:
            return function(x, axes, keepdims=keepdims)
        dtype = np.dtype(x.dtype)
        if dtype.kind == "b":
            value: Any = sign < 0
        elif dtype.kind in "iu":
            value = np.iinfo(dtype).max if sign < 0 else np.iinfo(dtype).min
        else:
            value = -sign * math.inf
        return placed(np.full(_shape_of(x, axes, keepdims), value, dtype), x)

    return reduce


_max, _min = _reduction("ReduceMax")(_extreme(ops.max, 1)), _reduction("ReduceMin")(_extreme(ops.min, -1))


def arg_extreme(extreme: Callable[..., Any]) -> Callable[..., Any]:
    """Return the operator of the place of an extreme along an axis: the first one, or the last. NaN is the extreme."""

    def call(x: Any, axis: int, keepdims: int, select_last_index: int = 0) -> Any:
        axis = axis_in(len(x.shape), axis)
        check_places("data", x, [axis])
        if not select_last_index:
            return extreme(x, axis, bool(keepdims))
        return ops.sub(x.shape[axis] - 1, extreme(ops.flip(x, axis), axis, bool(keepdims)))

    return call


@line("Hardmax", 13)
def hardmax(x: Any, axis: int) -> Any:
    """Return 1 for the first largest element along an axis, and 0 elsewhere."""
    axis = axis_in(len(x.shape), axis)
    if 0 in x.shape:
        return ops.identity(x)
    at = places(x.shape[axis], axis, len(x.shape), x)
    return ops.cast(ops.equal(ops.argmax(x, axis, keepdims=True), at), x.dtype)


def flat(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the operator that treats all axes from `axis` on as one."""

    def call(x: Any, axis: int) -> Any:
        axis_in(len(x.shape), axis)
        return function(flatten(x, axis), -1).reshape(x.shape)

    return call


def running(scan: Callable[..., Any], neutral: int) -> Callable[..., Any]:
    """Return the operator whose elements are sums, or products, of all up to them."""

    def call(x: Any, axis: NDArray, *, exclusive: int = 0, reverse: int = 0) -> Any:
        rank = len(x.shape)
        at = axis_in(rank, int(number("axis", axis)))
        if exclusive:
            moved = (-1, 1) if reverse else (1, -1)
            x = ops.pad(x, [moved if k == at else (0, 0) for k in range(rank)], constant_values=neutral)
        return scan(x, at, x.dtype, reverse=bool(reverse))

    return call


def _shape_of(x: Any, axes: Sequence[int], keepdims: bool) -> tuple[int, ...]:
    """Return the shape of x whose axes are reduced."""
    return tuple(1 if axis in axes else size for axis, size in enumerate(x.shape) if keepdims or axis not in axes)


line("ArgMax", 1)(arg_extreme(ops.argmax))
line("ArgMin", 1)(arg_extreme(ops.argmin))
line("CumProd", 26, host=(1,))(running(ops.cumulative_prod, 1))
line("CumSum", 11, host=(1,))(running(ops.cumulative_sum, 0))
line("Hardmax", 1)(flat(hardmax))
line("LogSoftmax", 1)(flat(ops.log_softmax))
line("Softmax", 1)(flat(ops.softmax))
line("LogSoftmax", 13)(ops.log_softmax)
line("Softmax", 13)(ops.softmax)
