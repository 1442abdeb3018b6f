"""Conversion between indices and offsets of elements (`nd_index_offset_helper.h`), on the host and in kernels."""

from __future__ import annotations

import math
import operator
from collections.abc import MutableSequence, Sequence

from ep.common.primitive.strides import contiguous_strides
from ep.include.errors import ArgumentValueError


def nd_index_to_offset(index: Sequence[int], strides: Sequence[int], num_dims: int) -> int:
    """Return the offset of `index`: the sum of index times stride. In kernels, the sequences are arrays of integers."""
    offset = strides[0] * 0  # an integer of the type of the products
    for axis in range(num_dims):
        offset += index[axis] * strides[axis]
    return offset


def offset_to_nd_index(offset: int, dims: Sequence[int], num_dims: int, index: MutableSequence[int]) -> None:
    """Write the index at `offset` of a contiguous array of `dims` to the first `num_dims` items of `index`."""
    for axis in range(num_dims - 1, -1, -1):
        index[axis] = offset % dims[axis]
        offset = offset // dims[axis]


class NdIndexOffsetHelper:
    """The dims of a row-major array, any number of them, with upstream's two conversions."""

    def __init__(self, dims: Sequence[int]) -> None:
        """dims: of the arrays, each at least 1."""
        self.dims = tuple(map(operator.index, dims))
        self.strides = contiguous_strides(self.dims)
        if min(self.dims, default=1) < 1:
            raise ArgumentValueError("dims", f"are {self.dims}; each must be at least 1")

    def NdIndexToOffset(self, index: Sequence[int]) -> int:
        """Return the offset of the element at `index`. As upstream, a shorter index has the leading axes."""
        places = [operator.index(place) for place in index]
        if len(places) > len(self.dims):
            raise ArgumentValueError("index", f"has {len(places)} places for {len(self.dims)} dims")
        return nd_index_to_offset(places, self.strides or (1,), len(places))

    def OffsetToNdIndex(self, offset: int) -> tuple[int, ...]:
        """Return the index of the element at `offset`. Raises ValueError if it is outside the array."""
        if not 0 <= offset < math.prod(self.dims):
            raise ArgumentValueError("offset", f"is {offset}; the array has {math.prod(self.dims)} elements")
        index = [0] * len(self.dims)
        offset_to_nd_index(operator.index(offset), self.dims, len(self.dims), index)
        return tuple(index)
