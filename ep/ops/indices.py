"""The indices of gather: their types, and the handling of those that are out of range."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from ep.include.arrays import Array, ArrayLike, Operands
from ep.include.shown import shown
from ep.include.suggest import did_you_mean

IndexMode: TypeAlias = Literal["raise", "wrap_negative", "zero", "clip"]
"""A way to handle an index that is out of range; `gather` describes them."""

MODES: Final = get_args(IndexMode)


def as_indices(arrays: Operands, indices: ArrayLike, argument: str) -> Array:
    """Return indices as a buffer of one of the eight integer types; TypeError for others.

    An empty list, which NumPy converts to float64, becomes int64.
    """
    buffer = arrays.as_buffer(indices, argument)
    if buffer.dtype.kind in "iu":
        return buffer
    if buffer.size == 0 and isinstance(indices, list | tuple):
        return arrays.as_buffer(np.zeros(buffer.shape, np.int64), argument)
    raise TypeError(f"{argument} has dtype {buffer.dtype}; it must be an integer type")


def check_mode(mode: str) -> None:
    """Raise ValueError for a mode that is not in MODES."""
    if not isinstance(mode, str) or mode not in MODES:
        raise ValueError(f"mode is {shown(mode)}; it must be one of {', '.join(MODES)}{did_you_mean(str(mode), MODES)}")
