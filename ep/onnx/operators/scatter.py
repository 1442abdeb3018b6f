"""Scatters: arrays with updates at some of their places."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ep import ops
from ep.onnx.operators import fitting
from ep.onnx.operators.attributes import one_of
from ep.onnx.operators.fitting import axis_in, check_rank, check_shape, check_within
from ep.onnx.operators.placing import placed, taken

NDArray = np.ndarray[Any, Any]

_REDUCTIONS: Final[Mapping[str, Any]] = {
    "none": lambda _, new: new,
    "add": ops.add,
    "mul": ops.mul,
    "max": ops.maximum,
    "min": ops.minimum,
}
check: Final = one_of(reduction=_REDUCTIONS)


def scatter_elements(x: Any, indices: NDArray, updates: Any, *, axis: int, reduction: str = "none") -> Any:
    """Return x with each element of `updates` at the place that `indices` has for it along an axis."""
    axis = axis_in(len(x.shape), axis)
    check_within("indices", indices.shape, x.shape, axis)
    check_shape("updates", updates, indices.shape)
    places: Any = [*np.indices(indices.shape, sparse=True)]
    places[axis] = _inside(indices, x.shape[axis])
    return _scattered(x, np.ravel_multi_index(np.broadcast_arrays(*places), x.shape), updates, reduction, ())


def scatter_nd(x: Any, indices: NDArray, updates: Any, *, reduction: str = "none") -> Any:
    """Return x with parts of `updates` in the places of parts of x, which the last axis of `indices` names."""
    check_rank("data", x, least=1)
    check_rank("indices", indices, least=1)
    depth = indices.shape[-1]
    fitting.check(depth <= len(x.shape), "indices of shape", indices.shape, f"of at most {len(x.shape)} numbers each")
    check_shape("updates", updates, (*indices.shape[:-1], *x.shape[depth:]))
    places: Any = [_inside(indices[..., k], size) for k, size in enumerate(x.shape[:depth])]
    flat = np.ravel_multi_index(places, x.shape[:depth]) if depth else np.zeros(indices.shape[:-1], np.int64)
    return _scattered(x, flat, updates, reduction, x.shape[depth:])


def _scattered(x: Any, places: NDArray, updates: Any, reduction: str, inner: tuple[int, ...]) -> Any:
    """Return x with rows of updates at places of its first axes; of two at one place the later comes later."""
    places, count = places.reshape(-1), math.prod(x.shape[: len(x.shape) - len(inner)])
    if not len(places) or not math.prod(x.shape):
        return ops.identity(x)
    rows, new = x.reshape((count, *inner)), updates.reshape((len(places), *inner))
    order = np.argsort(places, kind="stable")
    first = np.concatenate([[True], places[order][1:] != places[order][:-1]])
    turn = np.arange(len(order)) - np.flatnonzero(first).repeat(np.diff([*np.flatnonzero(first), len(order)]))
    turns = [order[turn == k] for k in range(turn.max() + 1)]
    if reduction == "none":  # the last ones take the places of all
        turns = [order[np.append(first[1:], True)]]
    for some in turns:
        source, is_new = np.zeros(count, np.int64), np.zeros((count, *[1] * len(inner)), bool)
        source[places[some]], is_new[places[some]] = some, True
        changed = _REDUCTIONS[reduction](rows, taken(new, source, 0))
        rows = ops.where(placed(is_new, x), changed, rows)
    return rows.reshape(x.shape)


def _inside(indices: NDArray, size: int) -> NDArray:
    """Indices of which negative ones are counted from the end; IndexError for those that are none of the axis."""
    if ((indices < -size) | (indices >= size)).any():
        raise IndexError(f"indices must be from {-size} to {size - 1}; they are {indices.min()} to {indices.max()}")
    return np.where(indices < 0, indices + size, indices).astype(np.int64)
