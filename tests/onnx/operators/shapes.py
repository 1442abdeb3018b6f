"""Records of the operators that compute sizes, or give elements other sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from tests.onnx.operators.record import Draw, Output, Record, Refused

NDArray = np.ndarray[Any, Any]


def whole(values: Any) -> NDArray:
    """Return sizes, axes and the like as an input."""
    return np.asarray(values, np.int64)


def front(axis: int, rank: int, name: str = "axis", end: int | None = None) -> int:
    """Return an axis, counted from the first one; raise Refused for an axis that there is not."""
    if not -rank <= axis < (rank if end is None else end):
        raise Refused(name)
    return axis + rank if axis < 0 else axis


def placed(d: Draw, rank: int, wrong: bool = True) -> int:
    """Return an axis, and rarely one that there is not."""
    if wrong and d.rarely("no such axis"):
        return rank + int(d.rng.integers(1, 3))
    axis = int(d.rng.integers(max(rank, 1)))
    return axis - rank if d.since >= 11 and d.maybe("negative axis") else axis


def _filled(d: Draw) -> Any:
    kinds = d.types["T2"]
    value = d.array((1,), kinds[int(d.rng.integers(len(kinds)))], wild=False)
    sizes = whole(d.shape())
    if len(sizes) and d.rarely("a negative size"):
        sizes[0] = -1
    return [sizes], {"value": d.pick("value", (None, numpy_helper.from_array(value, "value")))}


def _filled_of(d: Draw, sizes: Any, value: Any = None) -> Any:
    if (sizes < 0).any():
        raise Refused("input")
    number = np.zeros(1, np.float32) if value is None or not value.dims else numpy_helper.to_array(value)
    return Output(np.full(tuple(sizes), number[0]), number.dtype)


def _expand(d: Draw) -> Any:
    full = d.shape()
    shapes = [full, d.narrowed(full)][:: 1 if d.maybe("first") else -1]
    if full and d.rarely("contradictory shapes"):
        shapes = [full, (*full[:-1], full[-1] + 2)]
    return [d.array(shapes[0]), whole(shapes[1])], {}


def _expand_to(d: Draw, x: Any, shape: Any) -> Any:
    try:
        return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape))).copy()
    except ValueError:
        raise Refused("shape") from None


def _eye(d: Draw) -> Any:
    kinds = d.types["T2"]
    kind = helper.np_dtype_to_tensor_dtype(kinds[int(d.rng.integers(len(kinds)))])
    rank = 3 if d.rarely("another rank") else 2
    return [d.array(d.shape(rank, rank))], {"k": d.pick("k", (0, 1, -2, 9)), "dtype": d.pick("dtype", (None, kind))}


def _eye_of(d: Draw, x: Any, k: int, dtype: int | None = None) -> Any:
    if x.ndim != 2:
        raise Refused("input axes")
    found = [[float(col - row == k) for col in range(x.shape[1])] for row in range(x.shape[0])]
    kind = d.dtype if dtype is None else helper.tensor_dtype_to_np_dtype(dtype)
    return Output(np.array(found).reshape(x.shape), kind)


def _flat(d: Draw) -> Any:
    x = d.array(d.shape())
    axis = x.ndim if d.maybe("the end") else placed(d, x.ndim)
    return [x], {"axis": axis}


def _flat_of(d: Draw, x: Any, axis: int) -> Any:
    axis = front(axis, x.ndim, end=x.ndim + 1)
    rows, cols = math.prod(x.shape[:axis]), math.prod(x.shape[axis:])
    return x.reshape(rows, cols)


def _range(d: Draw) -> Any:
    if d.dtype.kind in "iu":
        big = d.dtype == np.int64 and d.maybe("large")
        first = 2**62 + 1 if big else int(d.rng.integers(-9, 9))
        step = d.pick("step", (1, 2, -3, 7, 0))
        numbers: list[Any] = [first, first + int(d.rng.integers(-9, 30)), step]
    else:
        step = d.pick("step", (1.0, 0.5, -0.25, 3.0, 0.0))
        first = float(d.rng.integers(-9, 9))
        numbers = [first, first + float(d.rng.integers(-9, 9)), step]
    return [np.array(one).astype(d.dtype) for one in numbers], {}


def _range_of(d: Draw, start: Any, limit: Any, delta: Any, **_: Any) -> Any:
    first, last, step = (one.item() for one in (start, limit, delta))
    if step == 0:
        raise Refused("delta")
    found = []
    while (first < last) if step > 0 else (first > last):
        found.append(first)
        first += step
    return np.array(found, start.dtype)


def _reshape(d: Draw) -> Any:
    x = d.array(d.shape())
    count = math.prod(x.shape)
    kind = d.pick("shape", ("same", "flat", "rest", "copied", "split", "wrong", "two", "beyond"))
    split = [*x.shape[:1], -1] if x.ndim and x.shape[0] else [count]
    copied = [0, *x.shape[1:]] if x.ndim else []
    shape = {"same": [*x.shape], "flat": [count], "rest": [1, -1], "copied": copied, "split": split, "two": [-1, -1],
             "wrong": [count + 1], "beyond": [*x.shape, 0]}[kind]  # fmt: skip
    return [x, whole(shape)], {"allowzero": d.pick("allowzero", (None, 0, 1)) if d.since >= 14 else None}


def _reshaped(d: Draw, x: Any, shape: Any, allowzero: int = 0) -> Any:
    given = shape.tolist()
    if given.count(-1) > 1 or (allowzero and {0, -1} <= {*given}):
        raise Refused("shape")
    if not allowzero and any(size == 0 and axis >= x.ndim for axis, size in enumerate(given)):
        raise Refused("shape")
    same = [not allowzero and size == 0 for size in given]
    sizes = [x.shape[axis] if is_same else size for axis, (size, is_same) in enumerate(zip(given, same, strict=True))]
    if -1 in sizes:
        left = math.prod(size for axis, size in enumerate(x.shape) if not (axis < len(same) and same[axis]))
        told = math.prod(size for size, is_same in zip(sizes, same, strict=True) if size != -1 and not is_same)
        if left % told:
            raise Refused("shape")
        sizes[sizes.index(-1)] = left // told
    if math.prod(sizes) != x.size:
        raise Refused("shape")
    return x.reshape(sizes)


def _shape(d: Draw) -> Any:
    x = d.array(d.shape())
    ends = (None, 0, 1, -1, 2, -9, 9)
    return [x], {"start": d.pick("start", ends), "end": d.pick("end", ends)} if d.since >= 15 else {}


def _shape_of(d: Draw, x: Any, start: int = 0, end: int | None = None) -> Any:
    first, last = (
        min(max(one + x.ndim if one < 0 else one, 0), x.ndim) for one in (start, x.ndim if end is None else end)
    )
    return Output(np.array([x.shape[k] for k in range(first, last)], np.int64), np.int64)


def _squeeze(d: Draw) -> Any:
    full = d.shape()
    shape = [1 if d.rng.random() < 0.5 else size for size in full]
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    axes = [axis - len(shape) if d.since >= 11 and d.rng.random() < 0.4 else axis for axis in d.rng.permutation(ones)]
    given = None if d.maybe("all") else [int(one) for one in axes[: int(d.rng.integers(len(axes) + 1))]]
    if given is not None and d.rarely("a wrong axis"):
        given = [0, 0] if ones == [0] else [len(shape) + 1]
    if d.since < 13:
        return [d.array(shape)], {"axes": given or None}
    return [d.array(shape), None if given is None else whole(given)], {}


def _squeezed(d: Draw, x: Any, given: Any = None, axes: Any = None) -> Any:
    some = axes if given is None else given
    if some is None:
        gone = [axis for axis, size in enumerate(x.shape) if size == 1]
    else:
        gone = [front(int(axis), x.ndim, "axes") for axis in some]
    if len({*gone}) < len(gone) or any(x.shape[axis] != 1 for axis in gone):
        raise Refused("axes")
    return x.reshape([size for axis, size in enumerate(x.shape) if axis not in gone])


def _unsqueeze(d: Draw) -> Any:
    x = d.array(d.shape(most=3))
    count = d.pick("axes", (1, 2, 3))
    axes = [int(one) for one in d.rng.permutation(x.ndim + count)[:count]]
    axes = [axis - x.ndim - count if d.since >= 11 and d.rng.random() < 0.4 else axis for axis in axes]
    if d.rarely("a wrong axis"):
        axes[-1] = axes[0] if count > 1 else x.ndim + 1
    return ([x], {"axes": axes}) if d.since < 13 else ([x, whole(axes)], {})


def _unsqueezed(d: Draw, x: Any, given: Any = None, axes: Any = None) -> Any:
    some = axes if given is None else given
    rank = x.ndim + len(some)
    new = [front(int(axis), rank, "axes") for axis in some]
    if len({*new}) < len(new):
        raise Refused("axes")
    left = [*x.shape]
    return x.reshape([1 if axis in new else left.pop(0) for axis in range(rank)])


_ALL = (
    Record("ConstantOfShape", _filled, _filled_of, 0, constants=(0,)),
    Record("Expand", _expand, _expand_to, 0, constants=(1,)),
    Record("EyeLike", _eye, _eye_of, 0),
    Record("Flatten", _flat, _flat_of, 0),
    Record("Range", _range, _range_of, 0, constants=(0, 1, 2)),
    Record("Reshape", _reshape, _reshaped, 0, constants=(1,)),
    Record("Shape", _shape, _shape_of, 0),
    Record("Size", lambda d: ([d.array(d.shape())], {}), lambda d, x: Output(np.array(x.size), np.int64), 0),
    Record("Squeeze", _squeeze, _squeezed, 0, constants=(1,)),
    Record("Unsqueeze", _unsqueeze, _unsqueezed, 0, constants=(1,)),
)
RECORDS = {one.name: one for one in _ALL}
