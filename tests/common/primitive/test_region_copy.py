"""CopyNd: the walk over a box, whether two boxes share memory, and boxes that are refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.common.primitive.region_copy import as_box_copy


def box(array, pos, extent):
    return array[(..., *(slice(begin, begin + size) for begin, size in zip(pos, extent, strict=True)))]


def overlaps(copy, distance, itemsize):
    try:
        copy.check_overlap(distance, itemsize)
    except ValueError as error:
        return "dst overlaps src" in str(error)
    return False


@st.composite
def boxes(draw, min_size=0, same_dims=False):
    axes = draw(st.lists(st.tuples(*[st.integers(min_size, 3), *[st.integers(0, 2)] * 4]), max_size=5))
    extent, dst_pos, dst_rest, src_pos, src_rest = zip(*axes, strict=True) if axes else ((),) * 5
    dst_dims = tuple(map(sum, zip(extent, dst_pos, dst_rest, strict=True)))
    src_dims = tuple(map(sum, zip(extent, src_pos, src_rest, strict=True)))
    if same_dims:
        dst_dims = src_dims = tuple(map(max, zip(dst_dims, src_dims, strict=True)))
    return as_box_copy(dst_dims, dst_pos, src_dims, src_pos, extent, 8)


@given(copy=boxes(min_size=1))
def test_the_walk_moves_the_box(copy):
    dst_count, src_count = copy.counts()
    src, dst = np.arange(src_count) + 1, np.zeros(dst_count, np.int64)
    dst_offset, src_offset = copy.offsets()
    walk = copy.walk()
    for index in np.ndindex(*walk.dims):
        dst[dst_offset + np.dot(index, walk.dst_strides)] = src[src_offset + np.dot(index, walk.src_strides)]
    want = np.zeros(copy.dst_dims, np.int64)
    box(want, copy.dst_pos, copy.extent)[...] = box(src.reshape(copy.src_dims), copy.src_pos, copy.extent)
    assert dst.tolist() == want.reshape(-1).tolist()


@pytest.mark.parametrize(
    ("arguments", "dims"),
    [
        (((5, 4), (1, 0), (7, 4), (2, 0), (3, 4)), (12,)),
        (((5, 4), (1, 0), (7, 5), (2, 0), (3, 4)), (3, 4)),
        (((2, 5, 4), (0, 1, 0), (2, 5, 4), (0, 2, 0), (2, 3, 4)), (2, 12)),
        (((9, 9, 9), (1, 2, 3), (9, 9, 9), (0, 0, 0), (1, 1, 4)), (4,)),
        (((), (), (), (), ()), (1,)),
    ],
)
def test_axes_without_gaps_merge(arguments, dims):
    assert as_box_copy(*arguments, 8).walk().dims == dims


@given(copy=boxes(min_size=1, same_dims=True), shift=st.integers(-12, 12), itemsize=st.sampled_from([1, 2, 4]))
def test_boxes_of_arrays_alike_overlap_where_they_share_a_byte(copy, shift, itemsize):
    dst_count, src_count = copy.counts()
    memory = np.zeros(itemsize * (max(dst_count, src_count)) + 24, np.int8)
    sides = []
    for begin, dims, pos in ((12 + shift, copy.dst_dims, copy.dst_pos), (12, copy.src_dims, copy.src_pos)):
        part = memory[begin : begin + itemsize * math.prod(dims)].view(f"V{itemsize}")
        sides.append(box(part.reshape(dims), pos, copy.extent))
    assert overlaps(copy, shift, itemsize) == np.shares_memory(*sides)


@given(copy=boxes(min_size=1), shift=st.integers(-200, 200))
def test_no_overlap_goes_unnoticed(copy, shift):
    memory = np.zeros(max(copy.counts()) + 400, np.int8)
    dst, src = (
        box(memory[begin : begin + math.prod(dims)].reshape(dims), pos, copy.extent)
        for begin, dims, pos in ((200 + shift, copy.dst_dims, copy.dst_pos), (200, copy.src_dims, copy.src_pos))
    )
    assert overlaps(copy, shift, 1) or not np.shares_memory(dst, src)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"dst_pos": (3, 0)}, ValueError, r"dst_pos .* outside dst_dims \(4, 5\) at axis 0: 3 \+ 2 is more than 4"),
        ({"src_pos": (0, 5)}, ValueError, r"src_pos .* outside src_dims \(6, 7\) at axis 1: 5 \+ 3 is more than 7"),
        ({"extent": (2, 6)}, ValueError, r"dst_pos .* and extent \(2, 6\) reach outside dst_dims"),
        ({"extent": (0, 6)}, ValueError, "reach outside dst_dims"),
        ({"extent": (2, -1)}, ValueError, r"extent\[1\] is -1; it must not be negative"),
        ({"src_pos": (-1, 0)}, ValueError, r"src_pos\[0\] is -1; it must not be negative"),
        ({"dst_pos": (0,)}, ValueError, "dst_pos has 1 numbers for 2 dims"),
        ({"src_dims": (6,)}, ValueError, r"dst_dims \(4, 5\) and src_dims \(6,\) must have the same number of dims"),
        ({"extent": (2, 1.5)}, TypeError, r"extent\[1\] must be an integer"),
        ({"dst_dims": 4}, TypeError, "dst_dims must be a sequence"),
        ({"max_num_dims": 1}, ValueError, "dst_dims has 2 dims; this primitive was made for at most 1"),
    ],
)
def test_boxes_that_are_refused(changes, error, message):
    arguments = {
        **{"dst_dims": (4, 5), "dst_pos": (1, 1), "src_dims": (6, 7), "src_pos": (0, 0)},
        **{"extent": (2, 3), "max_num_dims": 8},
    }
    as_box_copy(**arguments)
    with pytest.raises(error, match=message):
        as_box_copy(**arguments | changes)
