"""Records of the operators that move elements."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.onnx.operators.record import Draw, Record, Refused
from tests.onnx.operators.shapes import front, placed, whole

NDArray = np.ndarray[Any, Any]


def some_axes(d: Draw, rank: int, least: int = 0) -> list[int]:
    """Return some different axes in any order, from either end where the version has this."""
    count = int(d.rng.integers(least, rank + 1)) if rank >= least else least
    axes = [int(one) for one in d.rng.permutation(max(rank, count))[:count]]
    return [axis - rank if d.since >= 11 and d.rng.random() < 0.4 else axis for axis in axes]


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
        return [x], {"pads": pads, "value": None if value is None else float(np.float32(value)), "mode": mode}
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
    Record("DepthToSpace", _blocks(True), _depth_to_space, 0),
    Record("SpaceToDepth", _blocks(False), _space_to_depth, 0),
    Record("Slice", _slice, _slice_9, 0, constants=(1, 2, 3, 4)),
    Record("Split", _split, _splits, 0, constants=(1,), all_outputs=True),
    Record("Tile", _tile, _tiled, 0, constants=(1,)),
    Record("Transpose", _transpose, _transposed, 0),
    Record("Trilu", _trilu, _trilu_of, 0, constants=(1,)),
    Record("Pad", _pad, _padded, 0, constants=(1, 2, 3)),
)
RECORDS = {one.name: one for one in _ALL}
