"""Moves of data without arithmetic: by size, in the widest unit that fits."""

from __future__ import annotations

from typing import Final

from ep.common.primitive.broadcast import StridedWalk

MAX_UNIT: Final = 16
"""Bytes of the widest unit."""


def widest_unit(*byte_counts: int) -> int:
    """Return the widest of 16, 8, 4, 2 and 1 bytes that divides all `byte_counts` (addresses, strides, row sizes)."""
    bits = MAX_UNIT
    for count in byte_counts:
        bits |= count % MAX_UNIT
    return bits & -bits


def fits_32_bit_offsets(*element_counts: int) -> bool:
    """Return whether offsets into arrays of `element_counts` may be computed in 32 bits: up to upstream's 2^31 / 2."""
    return max(element_counts, default=0) < 2**30


def widen(walk: StridedWalk, itemsize: int, max_unit: int = MAX_UNIT) -> tuple[StridedWalk, int]:
    """Widen the elements of a walk to units of several if runs are contiguous on both sides. Return walk and unit.

    Only whole axes or whole parts of the last axis become units, and only if every other stride is a multiple of the
    unit: the returned walk moves the same bytes.

    max_unit: the widest unit, a power of two, if addresses do not allow MAX_UNIT.
    """
    if walk.src_strides[-1] != 1 or walk.dst_strides[-1] != 1 or walk.dims[-1] % 2:
        return walk, itemsize
    dims, src, dst = map(list, walk)
    unit = itemsize
    while unit < max_unit and src[-1] == dst[-1] == 1 and dims[-1] % 2 == 0:
        if any(stride % 2 for stride in (*src[:-1], *dst[:-1])):
            break
        unit *= 2
        dims[-1] //= 2
        src[:-1] = [stride // 2 for stride in src[:-1]]
        dst[:-1] = [stride // 2 for stride in dst[:-1]]
        if dims[-1] == 1 and len(dims) > 1:
            del dims[-1], src[-1], dst[-1]
    return StridedWalk(tuple(dims), tuple(src), tuple(dst)), unit


def split(walk: StridedWalk, itemsize: int, max_unit: int) -> tuple[StridedWalk, int]:
    """Return a walk that moves the elements in units of at most `max_unit` bytes, and the unit.

    max_unit: a power of two. An element may be several units.
    """
    if itemsize <= max_unit:
        return walk, itemsize
    parts = itemsize // max_unit
    dims, src, dst = walk.dims, *(tuple(parts * stride for stride in strides) for strides in walk[1:])
    return StridedWalk((*dims, parts), (*src, 1), (*dst, 1)), max_unit
