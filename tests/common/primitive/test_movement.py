"""Data movement: units, offsets, and that wider units move the same bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.common.primitive.broadcast import StridedWalk, simplify_strided
from ep.common.primitive.movement import fits_32_bit_offsets, widen, widest_unit
from ep.common.primitive.strides import contiguous_strides, expanded_strides


@pytest.mark.parametrize(
    ("byte_counts", "unit"),
    [
        ((), 16),
        ((0,), 16),
        ((64,), 16),
        ((48, 0x7F0000001008), 8),
        ((24, 16), 8),
        ((4, 16), 4),
        ((16, 10), 2),
        ((16, 16, 5), 1),
    ],
)
def test_widest_unit(byte_counts, unit):
    assert widest_unit(*byte_counts) == unit


@given(byte_counts=st.lists(st.integers(0, 2**50), min_size=1, max_size=4))
def test_the_widest_unit_is_the_widest(byte_counts):
    assert widest_unit(*byte_counts) == next(
        unit for unit in (16, 8, 4, 2, 1) if not any(count % unit for count in byte_counts)
    )


@pytest.mark.parametrize(
    ("counts", "fits"),
    [((), True), ((0,), True), ((2**30 - 1,), True), ((2**30,), False), ((5, 2**31), False), ((2**40, 1), False)],
)
def test_fits_32_bit_offsets(counts, fits):
    assert fits_32_bit_offsets(*counts) is fits


@pytest.mark.parametrize(
    ("walk", "itemsize", "wide", "unit"),
    [
        # a contiguous run becomes wider units, up to 16 bytes
        (((8,), (1,), (1,)), 4, ((2,), (1,), (1,)), 16),
        (((8,), (1,), (1,)), 1, ((1,), (1,), (1,)), 8),
        (((7,), (1,), (1,)), 4, ((7,), (1,), (1,)), 4),
        (((6,), (1,), (1,)), 4, ((3,), (1,), (1,)), 8),
        (((8,), (1,), (1,)), 16, ((8,), (1,), (1,)), 16),
        # an axis that becomes one unit is removed
        (((3, 4), (0, 1), (4, 1)), 4, ((3,), (0,), (1,)), 16),
        # rows of 5 with 4 used: the next row does not begin on a unit
        (((3, 4), (5, 1), (4, 1)), 4, ((3, 4), (5, 1), (4, 1)), 4),
        (((3, 4), (4, 1), (5, 1)), 4, ((3, 4), (4, 1), (5, 1)), 4),
        (((3, 4), (6, 1), (4, 1)), 4, ((3, 2), (3, 1), (2, 1)), 8),
        # steps and repetitions are not contiguous
        (((8,), (2,), (1,)), 4, ((8,), (2,), (1,)), 4),
        (((8,), (1,), (2,)), 4, ((8,), (1,), (2,)), 4),
        (((8,), (0,), (1,)), 4, ((8,), (0,), (1,)), 4),
    ],
)
def test_widen(walk, itemsize, wide, unit):
    assert widen(StridedWalk(*walk), itemsize) == (wide, unit)


def moved_bytes(walk, unit):
    """Return the offset of the source byte for each destination byte."""
    result = []
    for index in np.ndindex(*walk.dims):
        src, dst = (int(np.dot(index, strides)) * unit for strides in (walk.src_strides, walk.dst_strides))
        result += [(dst + byte, src + byte) for byte in range(unit)]
    return sorted(result)


@given(data=st.data())
def test_wider_units_move_the_same_bytes(data):
    dims = data.draw(st.lists(st.sampled_from([1, 2, 3, 4, 6, 8]), min_size=1, max_size=4), "dims")
    src_dims = [data.draw(st.sampled_from([size, 1])) for size in dims]
    rows = [*dims[:-1], dims[-1] + data.draw(st.integers(0, 2), "gap of dst")]
    src_rows = [*src_dims[:-1], src_dims[-1] + data.draw(st.integers(0, 2), "gap of src")]
    src = expanded_strides(src_dims, contiguous_strides(src_rows), len(dims))
    walk = simplify_strided(dims, src, contiguous_strides(rows))
    itemsize = data.draw(st.sampled_from([1, 2, 4, 8, 16]), "itemsize")
    wide, unit = widen(walk, itemsize)
    assert itemsize <= unit <= 16
    assert moved_bytes(wide, unit) == moved_bytes(walk, itemsize)
