"""The places of the values of expressions that reduce."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.cpu.lines.ahead import AHEAD_BLOCK
from ep.include.data_type import DataType


class Place(NamedTuple):
    """The place of a value.

    strides: over the shape of the launch, in bytes.
    array: the number of an array of the launch, or -1 if the value is in memory of the thread, where values are
        numbered by `slot`.
    rows, row_bytes: the number of rows of an array of which some are chosen, and the bytes from one to the next.
    """

    data_type: DataType
    strides: Dims
    array: int
    slot: int = -1
    rows: int = 0
    row_bytes: int = 0


def next_rows(places: Sequence[Place], together: int, length: int, part: int, parts: int) -> list[int]:
    """Return the words by which a stage prefetches one of several parts of the next rows, for each of their places.

    together: the number of rows. length: their elements.
    """
    words = []
    for place in places:
        size = place.data_type.itemsize
        skip = together * length * size * part // parts
        words += [place.array, length * size, skip, -(-AHEAD_BLOCK * size // parts)]
    return words


def may_be_one(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Return whether arrays that Launch has checked may have the same memory: in this launch, or in one like it.

    The stride along an axis of one element may be any.
    """

    def steps(array: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
        return [(size, step) for size, step in zip(array.shape, array.strides, strict=True) if size != 1]

    return one.itemsize == other.itemsize and steps(one) == steps(other)
