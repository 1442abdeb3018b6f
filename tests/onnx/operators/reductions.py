"""Records of reductions, running sums and softmaxes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.onnx.operators.elementwise import wrapped
from tests.onnx.operators.record import Draw, Output, Record, Refused


def lines(function: Callable[[list[Any]], Any], x: Any, axes: Sequence[int], keepdims: int) -> Any:
    """Return a function of the list of elements along some axes, for each place of the others."""
    kept = [size for axis, size in enumerate(x.shape) if axis not in axes]
    order = [axis for axis in range(x.ndim) if axis not in axes] + [*axes]
    rows = np.transpose(x, order).reshape(math.prod(kept), math.prod(x.shape[axis] for axis in axes))
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape) if keepdims or axis not in axes]
    found = [function(row) for row in rows.tolist()]
    return np.array(found, object if found and isinstance(found[0], int) else np.float64).reshape(shape)


def axis_of(axis: int, rank: int, name: str = "axis") -> int:
    """Return an axis counted from the first; raise Refused for one that there is not."""
    if not -rank <= axis < rank:
        raise Refused(f"{name} axes")
    return axis % rank


def _total(row: Sequence[float]) -> float:
    """Return the sum of a row, rounded once; infinite where it is."""
    if any(map(math.isnan, row)) or {math.inf, -math.inf} <= {*row}:
        return math.nan
    infinite = [one for one in row if math.isinf(one)]
    try:
        return infinite[0] if infinite else math.fsum(row)
    except OverflowError:
        return math.copysign(math.inf, float(np.sum(np.array(row, np.longdouble))))


def _mean(row: Sequence[Any]) -> Any:
    if row and isinstance(row[0], int):
        whole = abs(sum(row)) // len(row)
        return whole if sum(row) >= 0 else -whole
    return _total([one / len(row) for one in row]) if row else math.nan


def _extreme(least: bool) -> Callable[[Sequence[Any]], Any]:
    def call(row: Sequence[Any]) -> Any:
        if any(one != one for one in row):
            return math.nan
        return (min if least else max)(row)

    return call


def _sum(row: Sequence[Any]) -> Any:
    return sum(row) if row and isinstance(row[0], int) else _total(row)


def _product(row: Sequence[Any]) -> Any:
    if row and isinstance(row[0], int):
        return math.prod(row)
    return float(np.prod(np.array(row, np.longdouble)))


def _root(number: Any) -> Any:
    return math.isqrt(number) if isinstance(number, int) else math.sqrt(number)


def _log(number: float) -> float:
    return math.nan if number < 0 or number != number else -math.inf if number == 0 else math.log(number)


def _log_sum_exp(row: Sequence[float]) -> float:
    if any(one != one for one in row):
        return math.nan
    most = max(row, default=-math.inf)
    return most if math.isinf(most) else most + math.log(_total([math.exp(one - most) for one in row]))


_ROWS: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None]] = {
    "ReduceL1": (lambda row: _sum([*map(abs, row)]), None),
    "ReduceL2": (lambda row: _root(_sum([one * one for one in row])), None),
    "ReduceLogSum": (lambda row: _log(_sum(row)), lambda row: 1 + abs(_log(_sum(row)))),
    "ReduceLogSumExp": (
        _log_sum_exp,
        lambda row: 1.0 + max((abs(one) for one in row if math.isfinite(one)), default=0.0),
    ),
    "ReduceMax": (_extreme(False), None),
    "ReduceMean": (_mean, lambda row: _mean([*map(abs, row)])),
    "ReduceMin": (_extreme(True), None),
    "ReduceProd": (_product, None),
    "ReduceSum": (_sum, lambda row: _total([*map(abs, row)])),
    "ReduceSumSquare": (lambda row: _sum([one * one for one in row]), None),
}
"""What each reduction gives of a row of elements, and what its errors are relative to."""

_SMALL = ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceProd", "ReduceSumSquare", "ReduceL1")
"""Reductions whose largest results are not tested: their terms overflow before."""


_OF_SOME = ("ReduceMean", "ReduceLogSum", "ReduceLogSumExp")
"""Reductions that have no result of no integers."""


def _reduction(name: str) -> Record:
    inputs = 13 if name == "ReduceSum" else 18  # the version from which axes are an input

    def draw(d: Draw) -> Any:
        integers = d.dtype.kind in "iu"
        low = 0.25 if name == "ReduceLogSum" else None
        shape = d.shape(empty=not (integers and name in _OF_SOME))
        wild = name not in _SMALL or (
            not integers
            and name not in ("ReduceLogSum", "ReduceProd")
            and (name != "ReduceL2" or d.dtype == np.float16)
        )
        x = d.array(shape, low=1 if low and integers else low, wild=wild)
        axes = [*d.rng.permutation(x.ndim)[: int(d.rng.integers(x.ndim + 1))]]
        axes = [int(axis) - (x.ndim if d.maybe("negative axes") else 0) for axis in axes]
        if x.ndim and d.rarely("no such axis"):
            axes = [x.ndim + 1 if d.maybe("beyond") else -x.ndim - 1]
        given: Any = axes if d.since >= inputs else axes or None
        given = None if d.rarely("no axes") else given
        keepdims = d.pick("keepdims", (0, 1))
        if d.since < inputs:
            return [x], {"axes": given, "keepdims": keepdims}
        noop = d.pick("noop_with_empty_axes", (0, 1))
        axes_input = None if given is None else np.array(given, np.int64)
        return [x, axes_input], {"keepdims": keepdims, "noop_with_empty_axes": noop}

    def reference(
        d: Draw, x: Any, given: Any = None, axes: Any = None, noop_with_empty_axes: int = 0, **rest: Any
    ) -> Any:
        found = [axis_of(int(one), x.ndim, "axes") for one in (given if given is not None else axes or ())]
        if not found and not noop_with_empty_axes:
            found = [*range(x.ndim)]
        function, magnitude = _ROWS[name]
        if name in ("ReduceMax", "ReduceMin") and 0 in [x.shape[axis] for axis in found]:
            return _of_none(d.dtype, name == "ReduceMin", x, found, rest["keepdims"])
        if x.dtype.kind not in "iub":
            scale = None if magnitude is None else lines(magnitude, x, found, rest["keepdims"])
            return Output(lines(function, x, found, rest["keepdims"]), magnitude=scale)
        if x.dtype.kind == "b":
            return lines(lambda row: int(function([*map(int, row)])), x, found, rest["keepdims"]).astype(bool)
        result = lines(lambda row: int(function(row)) if row else int(name == "ReduceProd"), x, found, rest["keepdims"])
        return wrapped(result.reshape(-1), d.dtype).reshape(result.shape)

    return Record(name, draw, reference, 8, constants=(1,))


def _of_none(dtype: Any, least: bool, x: Any, axes: Sequence[int], keepdims: int) -> Any:
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape) if keepdims or axis not in axes]
    if dtype.kind == "b":
        return np.full(shape, least)
    if dtype.kind in "iu":
        return np.full(shape, np.iinfo(dtype).max if least else np.iinfo(dtype).min, dtype)
    return np.full(shape, math.inf if least else -math.inf)


def _along(d: Draw, **attributes: Sequence[Any]) -> Any:
    x = d.array(d.shape())
    axis = d.axis(x.ndim) if not d.rarely("no such axis") else x.ndim + 2
    return [x], {"axis": axis, **{name: d.pick(name, values) for name, values in attributes.items()}}


def _arg(d: Draw) -> Any:
    last = (0, 1) if d.since >= 12 else (None,)
    return _along(d, keepdims=(0, 1), select_last_index=last)


def _place(least: bool) -> Callable[..., Any]:
    def reference(d: Draw, x: Any, axis: int, keepdims: int, select_last_index: int = 0) -> Any:
        at = axis_of(axis, x.ndim)
        if x.shape[at] == 0 and x.size == 0 and 0 not in x.shape[:at] + x.shape[at + 1 :]:
            raise Refused("axis axes x elements")

        def place(row: Sequence[Any]) -> int:
            extreme = _extreme(least)(row)
            found = [k for k, one in enumerate(row) if one == extreme or (one != one and extreme != extreme)]
            return found[-1] if select_last_index else found[0]

        return lines(place, x, [at], keepdims)

    return reference


def _hardmax(d: Draw, x: Any, axis: int) -> Any:
    if d.since < 13:
        return _flat(lambda x, at: _one_hot(x, at), x, axis)
    return _one_hot(x, axis_of(axis, x.ndim))


def _one_hot(x: Any, at: int) -> Any:
    if not x.size:
        return x
    return (np.argmax(x, at, keepdims=True) == np.arange(x.shape[at]).reshape(-1, *[1] * (x.ndim - at - 1))) * 1.0


def _flat(function: Callable[[Any, int], Any], x: Any, axis: int) -> Any:
    at = axis_of(axis, x.ndim)
    if not x.size:
        return x
    return function(x.reshape(math.prod(x.shape[:at]), -1), 1).reshape(x.shape)


def _log_softmax(x: Any, at: int) -> Any:
    if not x.size:
        return x
    most = np.max(x, at, keepdims=True)
    rest = x - np.where(np.isfinite(most), most, np.where(most == -np.inf, np.nan, most))
    return rest - np.log(np.sum(np.exp(rest), at, keepdims=True))


def _soft(is_log: bool) -> Callable[..., Any]:
    def function(x: Any, at: int) -> Any:
        found = _log_softmax(x, at)
        return found if is_log else np.exp(found)

    def reference(d: Draw, x: Any, axis: int) -> Any:
        found = _flat(function, x, axis) if d.since < 13 else function(x, axis_of(axis, x.ndim))
        size = np.max(np.abs(x), initial=0, where=np.isfinite(x)) + 1
        return Output(found, magnitude=size if is_log else np.abs(found) * min(size, 1e3))

    return reference


def _running(neutral: int, function: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def draw(d: Draw) -> Any:
        x = d.array(d.shape(), wild=d.dtype.kind in "iu" and neutral == 0)
        axis = d.axis(x.ndim) if not d.rarely("no such axis") else x.ndim + 2
        flags = {name: d.pick(name, (0, 1)) for name in ("exclusive", "reverse")}
        kinds = d.types["T2"]
        at = np.array(axis, kinds[int(d.rng.integers(len(kinds)))])
        return [x, at if d.maybe("scalar") else at.reshape(1) if d.since < 0 else at], flags

    def reference(d: Draw, x: Any, axis: Any, exclusive: int, reverse: int) -> Any:
        at = axis_of(int(axis), x.ndim)
        if not x.size:
            return x
        rows, sizes = [], []
        moved = np.moveaxis(x, at, -1)
        for row in moved.reshape(-1, x.shape[at]).tolist():
            row = row[::-1] if reverse else row
            found = [*itertools.accumulate(row, function, initial=neutral)]
            size = [*itertools.accumulate(map(abs, row), function, initial=neutral)]
            found, size = (one[:-1] if exclusive else one[1:] for one in (found, size))
            rows.append(found[::-1] if reverse else found)
            sizes.append(size[::-1] if reverse else size)
        if x.dtype.kind in "iu":
            flat = wrapped([one for row in rows for one in row], x.dtype)
            return np.moveaxis(flat.reshape(moved.shape), -1, at)
        result, scale = (np.moveaxis(np.array(one).reshape(moved.shape), -1, at) for one in (rows, sizes))
        return Output(result, magnitude=scale)

    return draw, reference


_ALL = (
    *map(_reduction, _ROWS),
    Record("ArgMax", _arg, _place(False)),
    Record("ArgMin", _arg, _place(True)),
    Record("Hardmax", _along, _hardmax),
    Record("Softmax", _along, _soft(False), 16),
    Record("LogSoftmax", _along, _soft(True), 8),
    Record("CumSum", *_running(0, lambda a, b: a + b), 8, constants=(1,)),
    Record("CumProd", *_running(1, lambda a, b: a * b), 8, constants=(1,)),
)
RECORDS = {one.name: one for one in _ALL}
