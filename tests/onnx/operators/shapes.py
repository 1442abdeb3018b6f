"""Records of the operators that move elements, or compute sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
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


def some_axes(d: Draw, rank: int, least: int = 0) -> list[int]:
    """Return some different axes in any order, from either end where the version has this."""
    count = int(d.rng.integers(least, rank + 1)) if rank >= least else least
    axes = [int(one) for one in d.rng.permutation(max(rank, count))[:count]]
    return [axis - rank if d.since >= 11 and d.rng.random() < 0.4 else axis for axis in axes]


def placed(d: Draw, rank: int, wrong: bool = True) -> int:
    """Return an axis, and rarely one that there is not."""
    if wrong and d.rarely("no such axis"):
        return rank + int(d.rng.integers(1, 3))
    axis = int(d.rng.integers(max(rank, 1)))
    return axis - rank if d.since >= 11 and d.maybe("negative axis") else axis


def taken(x: NDArray, function: Any, shape: Sequence[int], dtype: Any = None) -> NDArray:
    """Return an array whose elements are those of x at the places that a function returns; None for 0."""
    found = np.zeros(shape, x.dtype)
    for place in np.ndindex(*shape):
        source = function(place)
        if source is not None:
            found[place] = x[source]
    return found


def _concat(d: Draw) -> Any:
    shape = d.shape(least=1)
    axis = placed(d, len(shape))
    shapes = []
    for _ in range(d.pick("inputs", (1, 2, 3))):
        sizes = [*shape]
        sizes[axis % len(shape)] = int(d.rng.integers(0, 4))
        shapes.append(sizes)
    if len(shape) > 1 and len(shapes) > 1 and d.rarely("contradictory shapes"):
        shapes[1][(axis + 1) % len(shape)] += 1
    return [d.array(one) for one in shapes], {"axis": axis}


def _concat_of(d: Draw, *inputs: Any, axis: int) -> Any:
    axis = front(axis, inputs[0].ndim)
    if len({(*one.shape[:axis], *one.shape[axis + 1 :]) for one in inputs}) > 1:
        raise Refused("inputs")
    return np.concatenate(inputs, axis)


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


def _blocks(channels: bool) -> Any:
    def draw(d: Draw) -> Any:
        n, c, h, w = d.shape(least=4)
        size = d.pick("blocksize", (1, 2, 3))
        shape = (n, c * size * size, h, w) if channels else (n, c, h * size, w * size)
        if d.rarely("no multiple") and size > 1:
            shape = (n, shape[1] + 1, *shape[2:]) if channels else (*shape[:3], shape[3] + 1)
        mode = d.pick("mode", (None, "DCR", "CRD")) if channels and d.since >= 11 else None
        return [d.array(shape)], {"blocksize": size, "mode": mode}

    return draw


def _depth_to_space(d: Draw, x: Any, blocksize: int, mode: str = "DCR") -> Any:
    n, c, h, w = x.shape
    b, left = blocksize, c // blocksize**2
    if c % b**2:
        raise Refused("blocksize")

    def source(place: Any) -> Any:
        k, j, row, col = place
        inner = (row % b) * b + col % b
        return k, inner * left + j if mode == "DCR" else j * b * b + inner, row // b, col // b

    return taken(x, source, (n, left, h * b, w * b))


def _space_to_depth(d: Draw, x: Any, blocksize: int, mode: str = "DCR") -> Any:
    n, c, h, w = x.shape
    b = blocksize
    if h % b or w % b:
        raise Refused("blocksize")

    def source(place: Any) -> Any:
        k, j, row, col = place
        inner, channel = (j // c, j % c) if mode == "DCR" else (j % (b * b), j // (b * b))
        return k, channel, row * b + inner // b, col * b + inner % b

    return taken(x, source, (n, c * b * b, h // b, w // b))


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


def _slice(d: Draw) -> Any:
    x = d.array(d.shape(least=1))
    axes = some_axes(d, x.ndim, 1)
    if d.since < 10 or d.maybe("no axes"):
        axes = [*range(len(axes))]
    ends = (0, 1, 2, -1, -2, 9, -9, 2**31 - 1, -(2**31))
    starts, stops = ([int(d.rng.choice(ends)) for _ in axes] for _ in range(2))
    steps = [int(d.rng.choice((1, 1, 2, 3, -1, -2))) for _ in axes]
    told = [*axes] if axes != [*range(len(axes))] or d.maybe("told axes") else None
    if d.rarely("an axis twice") and told:
        told[-1] = told[0] if len(told) > 1 else x.ndim
    if d.since < 10:
        return [x], {"starts": starts, "ends": stops, "axes": told}
    if d.rarely("a step of 0"):
        steps[0] = 0
    kinds = d.types["Tind"]
    kind = kinds[int(d.rng.integers(len(kinds)))]
    given = [starts, stops, told, steps if steps != [1] * len(steps) or d.maybe("told steps") else None]
    return [x, *(None if one is None else np.array(one, kind) for one in given)], {}


def _sliced(d: Draw, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    places = [front(int(axis), x.ndim, "axes") for axis in (range(len(starts)) if axes is None else axes)]
    steps = [1] * len(places) if steps is None else [int(one) for one in steps]
    if len({*places}) < len(places):
        raise Refused("axes")
    if 0 in steps:
        raise Refused("steps")
    kept = [[*range(size)] for size in x.shape]
    for axis, first, last, step in zip(places, map(int, starts), map(int, ends), steps, strict=True):
        size = x.shape[axis]
        first, last = (one + size if one < 0 else one for one in (first, last))
        low, high = (0, size) if step > 0 else (-1, size - 1)
        first, last = min(max(first, 0), high), min(max(last, low), high)
        kept[axis] = [*range(first, last, step)]
    return x[np.ix_(*kept)]


def _slice_9(d: Draw, x: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None) -> Any:
    return _sliced(d, x, starts, ends, axes, steps)


def _split(d: Draw) -> Any:
    x = d.array(d.shape(least=1))
    axis = placed(d, x.ndim)
    size, count = x.shape[min(axis, x.ndim - 1)], d.pick("parts", (1, 2, 3))
    cuts = sorted(int(one) for one in d.rng.integers(0, size + 1, count - 1))
    parts = [last - first for first, last in zip([0, *cuts], [*cuts, size], strict=True)]
    if d.rarely("another sum"):
        parts[0] += 1
    if d.since < 13:
        return [x], {"axis": axis, "split": parts}
    if d.since >= 18 and d.maybe("num_outputs"):
        return [x, None], {"axis": axis, "num_outputs": count}
    return [x, whole(parts)], {"axis": axis}


def _splits(d: Draw, x: Any, sizes: Any = None, *, axis: int, split: Any = None, num_outputs: int | None = None) -> Any:
    size = x.shape[front(axis, x.ndim)]
    if num_outputs is not None:
        if num_outputs > size > 0:
            raise Refused("num_outputs")
        each = -(-size // num_outputs)
        parts = [each] * (num_outputs - 1)
        parts.append(size - sum(parts))
        if parts[-1] < 0:
            raise Refused("num_outputs")
    else:
        parts = [int(one) for one in (split if sizes is None else sizes)]
        if sum(parts) != size:
            raise Refused("split")
    ends = np.cumsum([0, *parts])
    return tuple(np.take(x, range(first, last), axis) for first, last in itertools.pairwise(ends))


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


def _tile(d: Draw) -> Any:
    x = d.array(d.shape(most=3))
    times = d.rng.integers(0, 4, x.ndim)
    if d.rarely("wrong repeats"):
        times = np.append(times, 2)
    elif x.ndim and d.rarely("negative repeats"):
        times[0] = -1
    return [x, whole(times)], {}


def _tiled(d: Draw, x: Any, repeats: Any) -> Any:
    if len(repeats) != x.ndim or (repeats < 0).any():
        raise Refused("repeats")
    shape = [size * int(times) for size, times in zip(x.shape, repeats, strict=True)]
    return taken(x, lambda place: tuple(at % size for at, size in zip(place, x.shape, strict=True)), shape)


def _transpose(d: Draw) -> Any:
    x = d.array(d.shape())
    perm = [int(one) for one in d.rng.permutation(x.ndim)]
    if perm and d.rarely("no permutation"):
        perm[0] = perm[-1] if len(perm) > 1 else 1
    return [x], {"perm": perm if perm and d.maybe("perm") else None}


def _transposed(d: Draw, x: Any, perm: Any = None) -> Any:
    order = [*range(x.ndim)][::-1] if perm is None else [*perm]
    if sorted(order) != [*range(x.ndim)]:
        raise Refused("perm")
    return x.transpose(order)


def _trilu(d: Draw) -> Any:
    x = d.array(d.shape(least=1 if d.rarely("one axis") else 2))
    k = d.pick("k", (None, 0, 1, -2, 9, -9))
    return [x, None if k is None else np.array(k)], {"upper": d.pick("upper", (None, 0, 1))}


def _trilu_of(d: Draw, x: Any, k: Any = None, *, upper: int) -> Any:
    if x.ndim < 2:
        raise Refused("input")
    at = 0 if k is None else int(k)
    return taken(x, lambda place: place if (place[-1] - place[-2] - at) * (1 if upper else -1) >= 0 else None, x.shape)


def _pad(d: Draw) -> Any:
    x = d.array(d.shape(least=0 if d.since >= 11 else 1, most=3))
    modes = ("constant", "constant", "reflect", "edge", *(("wrap",) if d.since >= 19 else ()))
    mode = d.pick("mode", modes)
    axes = some_axes(d, x.ndim) if d.since >= 18 and d.maybe("axes") else None
    each = [x.shape[axis] for axis in (range(x.ndim) if axes is None else axes)]
    low = -1 if d.maybe("negative") else 0
    pads = [int(d.rng.integers(low if size > 2 else 0, 4 if size or mode == "constant" else 1)) for size in each * 2]
    if each and d.rarely("too many pads"):
        pads.append(1)
    elif each and d.rarely("more than there are"):
        pads[0] = -each[0] - 1
    value = d.array((), wild=False) if mode == "constant" and d.maybe("value") else None
    if d.since < 11:
        return [x], {"pads": pads, "value": None if value is None else float(value), "mode": mode}
    given = [whole(pads), value, None if axes is None else whole(axes)]
    return [x, *given[: 3 if d.since >= 18 else 2]], {"mode": mode}


def _padded(d: Draw, x: Any, *given: Any, mode: str, pads: Any = None, value: float = 0.0) -> Any:
    sizes, number, axes = (*given, None, None, None)[:3]
    pads = pads if sizes is None else [int(one) for one in sizes]
    number = value if number is None else number
    places = [*range(x.ndim)] if axes is None else [front(int(axis), x.ndim, "axes") for axis in axes]
    if len(pads) != 2 * len(places):
        raise Refused("pads")
    width = dict.fromkeys(range(x.ndim), (0, 0))
    width |= {axis: (pads[k], pads[k + len(places)]) for k, axis in enumerate(places)}
    shape = []
    for axis, (first, last) in width.items():
        size = x.shape[axis]
        if min(first, last, first + last) < -size or (mode != "constant" and not size and max(first, last) > 0):
            raise Refused("pads")
        shape.append(size + first + last)

    def at(k: int, size: int) -> int | None:
        if 0 <= k < size or mode == "constant":
            return k if 0 <= k < size else None
        if mode == "edge":
            return 0 if k < 0 else size - 1
        if mode == "wrap":
            return k % size
        period = max(2 * size - 2, 1)
        return min(k % period, period - k % period) if size > 1 else 0

    found = np.full(shape, number, x.dtype)
    for place in np.ndindex(*shape):
        source = [at(k - width[axis][0], x.shape[axis]) for axis, k in enumerate(place)]
        if None not in source:
            found[place] = x[tuple(source)]
    return found


_ALL = (
    Record("Concat", _concat, _concat_of, 0),
    Record("ConstantOfShape", _filled, _filled_of, 0, constants=(0,)),
    Record("DepthToSpace", _blocks(True), _depth_to_space, 0),
    Record("SpaceToDepth", _blocks(False), _space_to_depth, 0),
    Record("Expand", _expand, _expand_to, 0, constants=(1,)),
    Record("EyeLike", _eye, _eye_of, 0),
    Record("Flatten", _flat, _flat_of, 0),
    Record("Range", _range, _range_of, 0, constants=(0, 1, 2)),
    Record("Reshape", _reshape, _reshaped, 0, constants=(1,)),
    Record("Shape", _shape, _shape_of, 0),
    Record("Size", lambda d: ([d.array(d.shape())], {}), lambda d, x: Output(np.array(x.size), np.int64), 0),
    Record("Slice", _slice, _slice_9, 0, constants=(1, 2, 3, 4)),
    Record("Split", _split, _splits, 0, constants=(1,), all_outputs=True),
    Record("Squeeze", _squeeze, _squeezed, 0, constants=(1,)),
    Record("Unsqueeze", _unsqueeze, _unsqueezed, 0, constants=(1,)),
    Record("Tile", _tile, _tiled, 0, constants=(1,)),
    Record("Transpose", _transpose, _transposed, 0),
    Record("Trilu", _trilu, _trilu_of, 0, constants=(1,)),
    Record("Pad", _pad, _padded, 0, constants=(1, 2, 3)),
)
RECORDS = {one.name: one for one in _ALL}
