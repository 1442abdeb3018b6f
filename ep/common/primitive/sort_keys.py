"""The keys by which an ArgSort orders elements, on every device: integers of their size, made of their bits."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.checks import as_size
from ep.include.data_type import DataType
from ep.include.errors import Argument, ArgumentValueError
from ep.include.number_kind import FLOATS
from ep.include.primitive.sort_order import SortOrder

MOST_SORTED: Final = 2**31 - 1
"""The most elements among which several places are found."""

_SIGNED: Final = {1: DataType.kInt8, 2: DataType.kInt16, 4: DataType.kInt32, 8: DataType.kInt64}


class KeyWords(NamedTuple):
    """The numbers that make keys of bits, which are read as a signed integer; the least key comes first.

    The key of an integer is `bits ^ turn`. That of a floating-point number is its magnitude, with its sign, `^ turn`,
    or `nan` if the magnitude is above `infinity`.
    """

    turn: int
    infinity: int
    nan: int


class SortSizes(NamedTuple):
    """The checked sizes of a launch of ArgSort."""

    outer: int
    size: int
    inner: int
    num_places: int

    @property
    def lines(self) -> int:
        """The number of lines, each of which is sorted."""
        return self.outer * self.inner


def bits_of(data_type: DataType) -> tuple[DataType, bool]:
    """Return the integer type as which elements are read, and whether they are floating-point numbers."""
    return _SIGNED[data_type.itemsize], data_type in FLOATS


def key_words(order: SortOrder, data_type: DataType) -> KeyWords:
    """Return the numbers of an order and a type."""
    limits = np.iinfo(_SIGNED[data_type.itemsize].dtype)
    turn = -1 if order is SortOrder.kDescending else 0
    if data_type not in FLOATS:
        return KeyWords(turn if data_type.dtype.kind == "i" else turn ^ int(limits.min), 0, 0)
    infinity = np.array(np.inf, data_type.dtype).view(limits.dtype)
    return KeyWords(turn, int(infinity), int(limits.max if order is SortOrder.kAscending else limits.min))


def as_sort_sizes(outer: Any, size: Any, inner: Any, num_places: Any) -> SortSizes:
    """Return the checked sizes of a launch. Raises TypeError and ValueError, which name the argument."""
    sizes = SortSizes(
        as_size(outer, "outer_dim_size"),
        as_size(size, "sort_dim_size"),
        as_size(inner, "inner_dim_size"),
        as_size(num_places, "num_places"),
    )
    if sizes.num_places > sizes.size and sizes.outer and sizes.inner:
        argument = Argument("sort_dim_size")
        raise ArgumentValueError("num_places", f"is {sizes.num_places}; it must not be above", argument, sizes.size)
    if sizes.num_places > 1 and sizes.size > MOST_SORTED:
        raise ArgumentValueError("sort_dim_size", f"is {sizes.size}; it must be below 2**31 for more than one place")
    return sizes
