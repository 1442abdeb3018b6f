"""The indices of gather: their types, and what becomes of those that are out of range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ep.include.suggest import did_you_mean
from ep.ops.arrays import Array, ArrayLike, as_buffer


def as_indices(indices: ArrayLike) -> Array:
    """Return indices as a buffer of one of the eight integer types; TypeError for others.

    A list without numbers in it, of which NumPy makes float64, is taken as int64.
    """
    array = as_buffer(indices, "indices")
    if array.size == 0 and isinstance(indices, list | tuple):
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"indices has dtype {array.dtype}; it must be an integer type")
    return array


def resolved(indices: Array, size: int, mode: str) -> Array:
    """Return indices as the primitive reads them, which gives zeros for those outside `0 ... size - 1`.

    Raises ValueError for an unknown mode, IndexError where the mode forbids an index, naming the first position.
    """
    resolve = _MODES.get(mode)
    if resolve is None:
        raise ValueError(f"mode is {mode!r}; it must be one of {', '.join(_MODES)}{did_you_mean(str(mode), _MODES)}")
    return resolve(indices, size) if indices.size else indices


def _raise(indices: Array, size: int) -> Array:
    # As unsigned numbers the negative ones are the largest, so that one maximum tells.
    bits = 8 * indices.itemsize
    limit = min(size, 2 ** (bits - 1)) if indices.dtype.kind == "i" else size
    if indices.view(f"u{indices.itemsize}").max() >= limit:
        _refuse(indices, (indices < 0) | (indices >= size), f"0 ... {size - 1}" if size else "nothing")
    return indices


def _wrap_negative(indices: Array, size: int) -> Array:
    negative = indices < 0
    wrong = (indices < -size) | (indices >= size)
    if wrong.any():
        _refuse(indices, wrong, f"{-size} ... {size - 1}" if size else "nothing")
    if not negative.any():
        return indices
    wide = indices.astype(np.int64)  # size may be more than the type holds
    wide[negative] += size
    return wide


def _zero(indices: Array, size: int) -> Array:
    return indices


def _clip(indices: Array, size: int) -> Array:
    if size == 0:
        _refuse(indices, np.ones(indices.shape, bool), "nothing")
    return np.asarray(np.clip(indices, 0, min(size - 1, np.iinfo(indices.dtype).max)))


_MODES: Final[dict[str, Callable[[Array, int], Array]]] = {
    "raise": _raise,
    "wrap_negative": _wrap_negative,
    "zero": _zero,
    "clip": _clip,
}


def _refuse(indices: Array, wrong: Any, allowed: str) -> None:
    position = [int(place) for place in np.unravel_index(int(wrong.argmax()), wrong.shape)]
    where = f"indices{position}" if position else "indices"
    raise IndexError(f"{where} is {indices[tuple(position)]}; the axis holds {allowed}")
