"""Operators that reduce axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ep import ops
from ep.onnx.operators.placing import placed

NDArray = np.ndarray[Any, Any]


def _l1(x: Any, axes: Any, keepdims: bool) -> Any:
    return ops.sum(ops.abs(x), axes, keepdims=keepdims)


def _l2(x: Any, axes: Any, keepdims: bool) -> Any:
    return _as(x, ops.sqrt(_sum_square(_float(x), axes, keepdims)))


def _log_sum(x: Any, axes: Any, keepdims: bool) -> Any:
    return _as(x, ops.log(ops.sum(_float(x), axes, keepdims=keepdims)))


def _log_sum_exp(x: Any, axes: Any, keepdims: bool) -> Any:
    """Return the logarithm of the sum of powers, without overflow."""
    wide = _float(x)
    if 0 in wide.shape:
        return _as(x, ops.log(ops.sum(ops.exp(wide), axes, keepdims=keepdims)))
    most = ops.max(wide, axes, keepdims=True)
    most = ops.where(ops.is_finite(most), most, 0.0)
    found = ops.add(ops.log(ops.sum(ops.exp(ops.sub(wide, most)), axes, keepdims=True)), most)
    return _as(x, found if keepdims else found.reshape(_shape_without(x.shape, axes)))


def _sum_square(x: Any, axes: Any, keepdims: bool) -> Any:
    return ops.sum(ops.mul(x, x), axes, keepdims=keepdims)


def _mean(x: Any, axes: Any, keepdims: bool) -> Any:
    if np.dtype(x.dtype).kind in "iu":
        count = math.prod(x.shape[axis] for axis in axes)
        return ops.trunc_div(_sum(x, axes, keepdims), placed(np.asarray(count, x.dtype), x))
    return ops.mean(x, axes, keepdims=keepdims)


def _sum(x: Any, axes: Any, keepdims: bool) -> Any:
    return ops.sum(x, axes, dtype=x.dtype, keepdims=keepdims)


def _prod(x: Any, axes: Any, keepdims: bool) -> Any:
    return ops.prod(x, axes, dtype=x.dtype, keepdims=keepdims)


def _extreme(function: Callable[..., Any], sign: int) -> Callable[..., Any]:
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
        shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
        filled = ops.full(tuple(shape) if keepdims else _shape_without(x.shape, axes), value, dtype)
        return filled

    return reduce


REDUCTIONS: Final[dict[str, Callable[[Any, Any, bool], Any]]] = {
    "ReduceL1": _l1,
    "ReduceL2": _l2,
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": _extreme(ops.max, 1),
    "ReduceMean": _mean,
    "ReduceMin": _extreme(ops.min, -1),
    "ReduceProd": _prod,
    "ReduceSum": _sum,
    "ReduceSumSquare": _sum_square,
}
"""Functions of an array, the reduced axes, and whether they are kept with one element."""


def by_attribute(reduce: Callable[[Any, Any, bool], Any]) -> Callable[..., Any]:
    """Return the operator whose axes are an attribute."""

    def call(x: Any, keepdims: int, axes: Sequence[int] | None = None, **_: Any) -> Any:
        return _reduced(reduce, x, axes, bool(keepdims))

    return call


def by_input(reduce: Callable[[Any, Any, bool], Any]) -> Callable[..., Any]:
    """Return the operator whose axes are an input; without axes, all are reduced, or none."""

    def call(x: Any, axes: Any = None, *, keepdims: int, noop_with_empty_axes: int = 0) -> Any:
        given = () if axes is None else tuple(map(int, axes))
        if not given and noop_with_empty_axes:
            return reduce(x.reshape((*x.shape, 1)), (len(x.shape),), False)
        return _reduced(reduce, x, given, bool(keepdims))

    return call


def _reduced(reduce: Callable[[Any, Any, bool], Any], x: Any, axes: Sequence[int] | None, keepdims: bool) -> Any:
    rank = len(x.shape)
    places = tuple(sorted({axis % rank for axis in axes})) if axes else tuple(range(rank))
    return reduce(x, places, keepdims)


def arg_max(x: Any, axis: int, keepdims: int, select_last_index: int = 0) -> Any:
    """Return the index of the largest element along an axis: the first one, or the last."""
    return _place(x, ops.max(x, axis, keepdims=True), axis, keepdims, select_last_index)


def arg_min(x: Any, axis: int, keepdims: int, select_last_index: int = 0) -> Any:
    """Return the index of the smallest element along an axis: the first one, or the last."""
    return _place(x, ops.min(x, axis, keepdims=True), axis, keepdims, select_last_index)


def _place(x: Any, value: Any, axis: int, keepdims: int, last: int) -> Any:
    axis %= len(x.shape)
    size, at = x.shape[axis], [1] * len(x.shape)
    at[axis] = size
    places = np.arange(size, dtype=np.int64).reshape(at)
    found = ops.where(ops.equal(x, value), placed(places, x), -1 if last else size)
    return (ops.max if last else ops.min)(found, axis, keepdims=bool(keepdims))


def hardmax(x: Any, axis: int) -> Any:
    """Return 1 for the first largest element along an axis, and 0 elsewhere."""
    axis %= len(x.shape)
    at = [1] * len(x.shape)
    at[axis] = x.shape[axis]
    places = placed(np.arange(x.shape[axis], dtype=np.int64).reshape(at), x)
    return ops.cast(ops.equal(arg_max(x, axis, 1), places), x.dtype)


def flat(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the operator that treats all axes from `axis` on as one."""

    def call(x: Any, axis: int) -> Any:
        axis %= len(x.shape)
        rows = x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
        return function(rows, -1).reshape(x.shape)

    return call


def lp_normalization(x: Any, axis: int, p: int) -> Any:
    """Return x divided by its norm along an axis, and 0 where the norm is 0."""
    norm = _l1(x, axis, True) if p == 1 else ops.sqrt(_sum_square(x, axis, True))
    return ops.where(ops.equal(norm, 0.0), ops.sub(x, x), ops.div(x, norm))


def running(function: Callable[..., Any], neutral: int) -> Callable[..., Any]:
    """Return the operator whose elements are sums, or products, of all up to them: of 2, then 4, then 8 neighbours."""

    def call(x: Any, axis: NDArray, *, exclusive: int = 0, reverse: int = 0) -> Any:
        place = int(axis.reshape(())) % len(x.shape)
        size, width = x.shape[place], [(0, 0)] * len(x.shape)
        steps = [2**k for k in range(max(size - 1, 0).bit_length())]
        for step in [1, *steps] if exclusive and size else steps:
            width[place] = (0, step) if reverse else (step, 0)
            part = [(None, None)] * place + [(step, None) if reverse else (None, size - step)]
            moved = ops.pad(ops.slice(x, *part), width, constant_values=neutral)
            exclusive, x = 0, moved if exclusive else function(moved, x)
        return x

    return call


def _shape_without(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _float(x: Any) -> Any:
    return x if np.dtype(x.dtype).kind not in "iub" else ops.cast(x, np.float64)


def _as(x: Any, value: Any) -> Any:
    return value if value.dtype == x.dtype else ops.cast(value, x.dtype)
