"""The pieces of a tensor: the part of it that each rank has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Final

import numpy as np

from ep.sbp.sbp import Broadcast, PartialMax, PartialMin, PartialSum, Sbp, Split

Dims = tuple[int, ...]
NDArray = np.ndarray[Any, Any]

_COMBINED: Final[dict[type[Sbp], Any]] = {PartialSum: np.add, PartialMax: np.maximum, PartialMin: np.minimum}


def piece_sizes(size: int, ranks: int) -> list[int]:
    """Return the sizes of the pieces of an axis: the first `size mod ranks` are one larger than the others."""
    return [size // ranks + (rank < size % ranks) for rank in range(ranks)]


def span(size: int, ranks: int, rank: int) -> tuple[int, int]:
    """Return the begin and the end of the piece of a rank."""
    begin = rank * (size // ranks) + min(rank, size % ranks)
    return begin, begin + piece_sizes(size, ranks)[rank]


def piece_shape(shape: Dims, sbp: Sbp, ranks: int, rank: int) -> Dims:
    """Return the shape of a rank's piece of a tensor of `shape`."""
    if not isinstance(sbp, Split):
        return shape
    begin, end = span(shape[sbp.axis], ranks, rank)
    return (*shape[: sbp.axis], end - begin, *shape[sbp.axis + 1 :])


def pieces(array: NDArray, sbp: Sbp, ranks: int) -> list[NDArray]:
    """Return the piece of each rank of an array. Of a PartialSum, the first rank has the whole and the others zeros.

    Of a PartialMax or PartialMin, all ranks have the whole.
    """
    if isinstance(sbp, Split):
        parts = (span(array.shape[sbp.axis], ranks, rank) for rank in range(ranks))
        return [array[(slice(None),) * sbp.axis + (slice(*part),)].copy() for part in parts]
    if isinstance(sbp, PartialSum):
        return [array.copy(), *(np.zeros_like(array) for _ in range(ranks - 1))]
    return [array.copy() for _ in range(ranks)]


def assemble(parts: Sequence[NDArray], sbp: Sbp, shape: Dims) -> NDArray:
    """Return the tensor of `shape` whose pieces the ranks have.

    Raises ValueError if a piece has the wrong shape, or if broadcast pieces differ.
    """
    for rank, part in enumerate(parts):
        expected = piece_shape(shape, sbp, len(parts), rank)
        if part.shape != expected:
            raise ValueError(f"the piece of rank {rank} has shape {part.shape}; {sbp} of {shape} has {expected} there")
    if isinstance(sbp, Split):
        return np.concatenate(parts, axis=sbp.axis)
    if isinstance(sbp, Broadcast):
        if not all(np.array_equal(part, parts[0], equal_nan=part.dtype.kind in "fc") for part in parts[1:]):
            raise ValueError("the ranks have different values of what is broadcast")
        return parts[0]
    combined: NDArray = reduce(_COMBINED[type(sbp)], parts)
    return combined
