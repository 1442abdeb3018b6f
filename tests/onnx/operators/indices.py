"""Records of the operators on indices: gathers, scatters, TopK, and those that select."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.onnx.operators.record import Draw, Output, Record, Refused
from tests.onnx.operators.shapes import front, placed

NDArray = np.ndarray[Any, Any]


def index_type(d: Draw) -> Any:
    """Return one of the types of indices."""
    kinds = d.types.get("Tind", [np.dtype(np.int64)])
    return kinds[int(d.rng.integers(len(kinds)))]


def indices(d: Draw, size: int, shape: Sequence[int], negative: bool = True, kind: Any = None) -> NDArray:
    """Return indices of an axis, from its end too, and now and then one beyond it."""
    if not size:
        shape = [0, *shape[1:]] if shape else [0]
    low = -size if negative and d.since >= 11 else 0
    found = d.rng.integers(low, max(size, low + 1), shape)
    if size and found.size and d.rarely("beyond"):
        found.reshape(-1)[0] = size
    return found.astype(index_type(d) if kind is None else kind)


def counted(values: NDArray, size: int) -> NDArray:
    """Return indices counted from the front; raise Refused for those beyond the axis."""
    if ((values < -size) | (values >= size)).any():
        raise Refused(f"{size} indices")
    return np.where(values < 0, values + size, values)


def _gather(d: Draw) -> Any:
    x = d.array(d.shape(least=1, most=3))
    axis = placed(d, x.ndim)
    size = x.shape[min(axis, x.ndim - 1)]
    return [x, indices(d, size, d.shape(most=2))], {"axis": axis}


def _gathered(d: Draw, x: Any, at: Any, axis: int) -> Any:
    axis = front(axis, x.ndim)
    return np.take(x, counted(at, x.shape[axis]), axis)


def narrower(d: Draw, shape: Sequence[int]) -> list[int]:
    """Return sizes of as many axes, none of which is larger; without elements if there are none."""
    return [int(d.rng.integers(1, size + 1)) if size else 0 for size in shape]


def _gather_elements(d: Draw) -> Any:
    x = d.array(d.shape(least=1, most=3))
    axis = placed(d, x.ndim)
    place = min(axis, x.ndim - 1) % x.ndim
    shape = narrower(d, x.shape)
    shape[place] = int(d.rng.integers(0, 5)) if x.shape[place] else 0
    if x.ndim > 1 and d.rarely("too wide"):
        shape[place - 1] = x.shape[place - 1] + 1
    at = d.rng.integers(-x.shape[place], max(x.shape[place], 1), shape)
    if at.size and d.rarely("beyond"):
        at.reshape(-1)[-1] = x.shape[place]
    return [x, at.astype(index_type(d))], {"axis": axis}


def _elements(x: Any, at: Any, axis: int) -> tuple[int, NDArray]:
    axis = front(axis, x.ndim)
    if at.ndim != x.ndim or any(size > x.shape[k] for k, size in enumerate(at.shape) if k != axis):
        raise Refused("indices")
    return axis, counted(at, x.shape[axis])


def _gathered_elements(d: Draw, x: Any, at: Any, axis: int) -> Any:
    axis, at = _elements(x, at, axis)
    found = np.empty(at.shape, x.dtype)
    for place in np.ndindex(*at.shape):
        source = [*place]
        source[axis] = at[place]
        found[place] = x[tuple(source)]
    return found


def _gather_nd(d: Draw) -> Any:
    x = d.array(d.shape(least=1, most=4))
    batch = int(d.rng.integers(0, x.ndim)) if d.since >= 12 else 0
    depth = int(d.rng.integers(1, x.ndim - batch + 1))
    if d.rarely("too deep"):
        depth = x.ndim + 1
    lead = [*x.shape[:batch], *d.shape(most=2, empty=False)]
    if batch and d.rarely("another batch"):
        lead[0] += 1
    sizes = [*x.shape[batch:], *[2] * depth][:depth]
    if 0 in sizes:
        lead = [*lead[:batch], 0]
    at = [d.rng.integers(-size, max(size, 1), lead) for size in sizes]
    if d.rarely("beyond") and at[0].size:
        at[0].reshape(-1)[0] = sizes[0]
    return [x, np.stack(at, -1).astype(np.int64)], {"batch_dims": batch if d.since >= 12 else None}


def _gathered_nd(d: Draw, x: Any, at: Any, batch_dims: int = 0) -> Any:
    depth = at.shape[-1]
    if depth > x.ndim - batch_dims or at.shape[:batch_dims] != x.shape[:batch_dims]:
        raise Refused("indices")
    for k in range(depth):
        counted(at[..., k], x.shape[batch_dims + k])
    found = np.empty((*at.shape[:-1], *x.shape[batch_dims + depth :]), x.dtype)
    for place in np.ndindex(*at.shape[:-1]):
        found[place] = x[(*place[:batch_dims], *at[place])]
    return found


def reduction(d: Draw) -> str | None:
    """Return how updates change elements: in the later versions more ways than one."""
    ways = [None, "none", *(["add", "mul"] if d.since >= 16 else []), *(["max", "min"] if d.since >= 18 else [])]
    if d.since < 16:
        return None
    return str(d.pick("reduction", ways[1:])) if d.dtype.kind in "iuf" and d.dtype.itemsize > 2 else None


def _combined(way: str, old: Any, new: Any, dtype: Any) -> Any:
    if way == "none":
        return new
    if dtype.kind in "iu":
        a, b = int(old), int(new)
        whole = {"add": a + b, "mul": a * b, "max": max(a, b), "min": min(a, b)}[way]
        bits, low = 8 * dtype.itemsize, int(np.iinfo(dtype).min)
        return (whole - low) % 2**bits + low
    function: Any = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[way]
    return function(dtype.type(old), dtype.type(new))


def _scatter(d: Draw) -> Any:
    x = d.array(d.shape(least=1, most=3), wild=False)
    axis = placed(d, x.ndim)
    place = min(axis, x.ndim - 1) % x.ndim
    shape = narrower(d, x.shape)
    if x.ndim > 1 and d.rarely("too wide"):
        shape[place - 1] = x.shape[place - 1] + 1
    at = d.rng.integers(-x.shape[place] if d.since >= 11 else 0, max(x.shape[place], 1), shape)
    if at.size and d.rarely("beyond"):
        at.reshape(-1)[-1] = x.shape[place]
    if d.rarely("other updates"):
        shape = [*shape[:-1], shape[-1] + 1]
    return [x, at.astype(index_type(d)), d.array(shape, wild=False)], {"axis": axis, "reduction": reduction(d)}


def _scattered(d: Draw, x: Any, at: Any, updates: Any, axis: int, reduction: str = "none") -> Any:
    axis, at = _elements(x, at, axis)
    if updates.shape != at.shape:
        raise Refused("updates")
    found = x.copy()
    for place in np.ndindex(*at.shape):
        target = [*place]
        target[axis] = at[place]
        found[tuple(target)] = _combined(reduction, found[tuple(target)], updates[place], d.dtype)
    return found


def _scatter_nd(d: Draw) -> Any:
    x = d.array(d.shape(least=1, most=3), wild=False)
    depth = int(d.rng.integers(1, x.ndim + 1))
    if d.rarely("too deep"):
        depth = x.ndim + 1
    lead = [*d.shape(most=2, empty=False)]
    sizes = [*x.shape, *[2] * depth][:depth]
    if 0 in sizes:
        lead = [0]
    at = [d.rng.integers(-size if d.since >= 11 else 0, max(size, 1), lead) for size in sizes]
    if at[0].size and d.rarely("beyond"):
        at[0].reshape(-1)[0] = sizes[0]
    shape = [*lead, *x.shape[depth:]]
    if d.rarely("other updates"):
        shape = [*shape, 2]
    return [x, np.stack(at, -1).astype(np.int64), d.array(shape, wild=False)], {"reduction": reduction(d)}


def _scattered_nd(d: Draw, x: Any, at: Any, updates: Any, reduction: str = "none") -> Any:
    depth = at.shape[-1]
    if depth > x.ndim:
        raise Refused("indices")
    if updates.shape != (*at.shape[:-1], *x.shape[depth:]):
        raise Refused("updates")
    places = [counted(at[..., k], x.shape[k]) for k in range(depth)]
    found = x.copy()
    for place in np.ndindex(*at.shape[:-1]):
        target = tuple(int(one[place]) for one in places)
        for inner in np.ndindex(*x.shape[depth:]):
            new = updates[(*place, *inner)]
            found[(*target, *inner)] = _combined(reduction, found[(*target, *inner)], new, d.dtype)
    return found


def _one_hot(d: Draw) -> Any:
    shape = d.shape(most=3)
    depth = d.pick("depth", (3, 1, 5, 0))
    low = 0 if d.dtype.kind == "u" else -depth - 2
    at = d.rng.integers(low, depth + 2, shape).astype(d.dtype)
    of_depth, of_values = ([one for one in d.types[name] if one.kind in "iufb"] for name in ("T2", "T3"))
    numbers = [one for one in of_depth if one.kind in "iu"]
    count = np.array(depth).astype(numbers[int(d.rng.integers(len(numbers)))])
    if d.maybe("a list"):
        count = count.reshape(1)
    kind = of_values[int(d.rng.integers(len(of_values)))]
    values = d.array((3 if d.rarely("three values") else 2,), kind)
    rank = len(shape) + 1
    axis = rank + 1 if d.rarely("no such axis") else int(d.rng.integers(-rank, rank))
    return [at, count, values], {"axis": axis}


def _hot(d: Draw, at: Any, depth: Any, values: Any, axis: int) -> Any:
    if values.shape != (2,):
        raise Refused("values")
    axis, count = front(axis, at.ndim + 1), int(depth.reshape(()))
    found = np.full((*at.shape, count), values[0])
    for place in np.ndindex(*at.shape):
        k = int(at[place])
        if -count <= k < count:
            found[(*place, k)] = values[1]
    return np.moveaxis(found, -1, axis)


def _compress(d: Draw) -> Any:
    x = d.array(d.shape(least=1, most=3))
    axis = None if d.maybe("flat") else placed(d, x.ndim)
    size = x.size if axis is None else x.shape[min(axis, x.ndim - 1)]
    count = size + 1 if d.rarely("too long") else int(d.rng.integers(0, size + 1))
    return [x, d.rng.random(count) < 0.5], {"axis": axis}


def _compressed(d: Draw, x: Any, kept: Any, axis: int | None = None) -> Any:
    x, axis = (x.reshape(-1), 0) if axis is None else (x, front(axis, x.ndim))
    if len(kept) > x.shape[axis]:
        raise Refused("condition")
    return np.take(x, [k for k, one in enumerate(kept) if one], axis)


def _non_zero(d: Draw) -> Any:
    x = d.array(d.shape(most=3))
    return [np.where(d.rng.random(x.shape) < 0.5, x, np.zeros((), x.dtype)).astype(x.dtype)], {}


def _places(d: Draw, x: Any) -> Any:
    places = [place for place in np.ndindex(*x.shape) if x[place] != 0]
    return Output(np.array(places, np.int64).reshape(len(places), x.ndim).T, np.int64)


def _top_k(d: Draw) -> Any:
    x = d.array(d.shape(least=1, most=3), wild=False)
    axis = placed(d, x.ndim)
    size = x.shape[min(axis, x.ndim - 1)]
    k = size + 1 if d.rarely("more than there are") else int(d.rng.integers(0, size + 1))
    later = {"largest": d.pick("largest", (None, 0, 1)), "sorted": d.pick("sorted", (None, 1))} if d.since >= 11 else {}
    return [x, np.array([k])], {"axis": axis, **later}


def _top(d: Draw, x: Any, k: Any, *, axis: int, largest: int = 1, sorted: int = 1) -> Any:
    axis, count = front(axis, x.ndim), int(k[0])
    if count > x.shape[axis]:
        raise Refused("k")
    rows = np.moveaxis(x, axis, -1)
    at = np.zeros((*rows.shape[:-1], count), np.int64)
    for place in np.ndindex(*rows.shape[:-1]):
        row = rows[place].tolist()
        order = [*range(len(row))]
        order.sort(key=lambda one, row=row: (-row[one] if largest else row[one], one))  # type: ignore[misc]
        at[place] = order[:count]
    return np.moveaxis(np.take_along_axis(rows, at, -1), -1, axis), Output(np.moveaxis(at, -1, axis), np.int64)


def _reverse(d: Draw) -> Any:
    x = d.array(d.shape(least=2))
    time = d.pick("time_axis", (0, 1))
    lengths = d.rng.integers(0 if d.maybe("nothing") else min(1, x.shape[time]), x.shape[time] + 1, x.shape[1 - time])
    if len(lengths) and d.rarely("too long"):
        lengths[0] = x.shape[time] + 1
    return [x, lengths.astype(np.int64)], {"time_axis": time, "batch_axis": 1 - time}


def _reversed(d: Draw, x: Any, lengths: Any, *, time_axis: int, batch_axis: int) -> Any:
    if (lengths > x.shape[time_axis]).any():
        raise Refused("sequence_lens")
    found = x.copy()
    for place in np.ndindex(*x.shape):
        source, length = [*place], int(lengths[place[batch_axis]])
        if place[time_axis] < length:
            source[time_axis] = length - 1 - place[time_axis]
        found[place] = x[tuple(source)]
    return found


_ALL = (
    Record("Gather", _gather, _gathered, 0),
    Record("GatherElements", _gather_elements, _gathered_elements, 0),
    Record("GatherND", _gather_nd, _gathered_nd, 0),
    Record("Scatter", _scatter, _scattered, 1),
    Record("ScatterElements", _scatter, _scattered, 1),
    Record("ScatterND", _scatter_nd, _scattered_nd, 1),
    Record("OneHot", _one_hot, _hot, 0, constants=(1,)),
    Record("Compress", _compress, _compressed, 0),
    Record("NonZero", _non_zero, _places, 0),
    Record("TopK", _top_k, _top, 0, constants=(1,)),
    Record("ReverseSequence", _reverse, _reversed, 0),
)
RECORDS = {one.name: one for one in _ALL}
