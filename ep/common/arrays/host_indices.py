"""The treatment of indices that are out of range, on ndarrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ep.common.arrays.index_types import resolved_type
from ep.include.errors import ArgumentIndexError

NDArray = np.ndarray[Any, Any]


_UNSIGNED: Final = {
    np.dtype(f"{kind}{size}"): (np.dtype(f"u{size}"), int(np.iinfo(f"{kind}{size}").max))
    for kind in "iu"
    for size in (1, 2, 4, 8)
}
"""For each type of indices, the unsigned type of its size, and the largest index."""


def _raise(indices: NDArray, size: int) -> NDArray:
    # As unsigned numbers the negative ones are the largest, so one maximum is enough.
    unsigned, largest = _UNSIGNED[indices.dtype]
    # not `max`, which goes through a Python function
    if np.maximum.reduce(indices.view(unsigned), axis=None) >= min(size, largest + 1):
        _refuse(indices, (indices < 0) | (indices >= size), f"0 ... {size - 1}" if size else "nothing")
    return indices


def _wrap_negative(indices: NDArray, size: int) -> NDArray:
    negative = indices < 0
    wrong = (indices < -size) | (indices >= size)
    if wrong.any():
        _refuse(indices, wrong, f"{-size} ... {size - 1}" if size else "nothing")
    wrapped = indices.astype(resolved_type(indices.dtype, size, "wrap_negative"), copy=False)
    return np.where(negative, wrapped + wrapped.dtype.type(size), wrapped) if negative.any() else wrapped


def _zero(indices: NDArray, size: int) -> NDArray:
    return indices


def _clip(indices: NDArray, size: int) -> NDArray:
    if size == 0:
        _refuse(indices, np.ones(indices.shape, bool), "nothing")
    last = min(size - 1, _UNSIGNED[indices.dtype][1])
    # not `clip`, which goes through several Python functions
    return np.asarray(np.maximum(np.minimum(indices, last, dtype=indices.dtype), 0, dtype=indices.dtype))


RESOLVERS: Final[dict[str, Callable[[NDArray, int], NDArray]]] = {
    "raise": _raise,
    "wrap_negative": _wrap_negative,
    "zero": _zero,
    "clip": _clip,
}
"""For each mode, the function that turns indices (at least one) into the indices that the primitive reads."""


def _refuse(indices: NDArray, wrong: Any, allowed: str) -> None:
    position = [int(place) for place in np.unravel_index(int(wrong.argmax()), wrong.shape)]
    where = f"indices{position}" if position else "indices"
    raise ArgumentIndexError(where, f"is {indices[tuple(position)]}; the axis holds {allowed}")
