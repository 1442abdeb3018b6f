"""The plan of a launch of OneHot, which depends on sizes and the address of `out`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ep.common.primitive.movement import fits_32_bit_offsets
from ep.cuda.compile.kernel_words import Divisor, Words, divisor, flat
from ep.cuda.compile.launch_config import pack_elements
from ep.include.data_type import DataType


class OneHotVariant(NamedTuple):
    """One of the kernels of `kernels.one_hot`.

    elements: the elements of a pack; in_rows: whether a row is a whole number of packs; bits: those of the arithmetic
    of offsets.
    """

    elements: int
    in_rows: bool
    bits: int


class OneHotWords(NamedTuple):
    """The words of a kernel. num_elements: of out, the first `packs` packs of them whole.

    The indices [low, low + num_valid) are in rows; `low` is that of column `first`. on, off: the bytes of the values.
    """

    indices: int
    out: int
    packs: int
    num_elements: int
    low: int
    num_valid: int
    first: int
    on: Words
    off: Words
    depth: Divisor


class OneHotPlan(NamedTuple):
    """A launch of certain sizes to an address of one alignment; words: without addresses and values."""

    variant: OneHotVariant
    num_items: int
    words: OneHotWords

    def words_for(self, indices: int, out: int, on: Words, off: Words) -> Iterator[int]:
        """Return all words of a launch."""
        return flat(self.words._replace(indices=indices, out=out, on=on, off=off))


@lru_cache(256)
def one_hot_plan(
    lower: int, depth: int, count: int, aligned: bool, indices_type: DataType, unit: DataType
) -> OneHotPlan:
    """Return the plan for `count` elements of out; lower: the index of the first class.

    aligned: whether packs can be written.

    unit: the data type that kernels write for an element.
    """
    elements = pack_elements(unit) if aligned else 1
    low = max(lower, 0) if indices_type.dtype.kind == "u" else lower
    bits = 32 if fits_32_bit_offsets(count) else 64
    packs = count // elements if aligned else 0
    return OneHotPlan(
        OneHotVariant(elements, depth % elements == 0, bits),
        max(packs, count - packs * elements),
        OneHotWords(
            *(0, 0),
            packs=packs,
            num_elements=count,
            low=low,
            num_valid=max(depth - (low - lower), 0),
            first=low - lower,
            on=(),
            off=(),
            depth=divisor(depth, bits),
        ),
    )
