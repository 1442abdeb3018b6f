"""Permute: the walk moves the same elements as NumPy, with the fewest axes; anything but a permutation is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.common.primitive.permute_shape import as_permute_shape
from ep.common.primitive.strides import contiguous_strides


@st.composite
def permutations(draw):
    dims = draw(st.lists(st.integers(1, 4), max_size=8))
    return tuple(dims), tuple(draw(st.permutations(range(len(dims)))))


@given(permutation=permutations())
def test_the_walk_moves_what_numpy_moves(permutation):
    shape = as_permute_shape(*permutation, 8)
    src_dims, axes = permutation
    walk = shape.walk()
    src = np.arange(math.prod(src_dims))
    strides = [step * src.itemsize for step in walk.src_strides]
    got = np.lib.stride_tricks.as_strided(src, walk.dims, strides)
    assert got.reshape(-1).tolist() == src.reshape(src_dims).transpose(axes).reshape(-1).tolist()
    assert walk.dst_strides == contiguous_strides(walk.dims)
    assert shape.num_elements() == src.size


@pytest.mark.parametrize(
    ("src_dims", "permutation", "dims", "src_strides"),
    [
        ((1, 2, 2, 1, 2), (0, 1, 3, 4, 2), (2, 2, 2), (4, 1, 2)),
        ((5, 6, 7, 8), (2, 3, 0, 1), (56, 30), (1, 56)),
        ((5, 6, 7, 8), (0, 1, 2, 3), (1680,), (1,)),
        ((1, 1), (1, 0), (1,), (1,)),
        ((), (), (1,), (1,)),
        ((2**20, 2**12, 3), (2, 0, 1), (3, 2**32), (1, 3)),  # does not fit in 32 bits
    ],
)
def test_axes_that_stay_together_merge(src_dims, permutation, dims, src_strides):
    walk = as_permute_shape(src_dims, permutation, 8).walk()
    assert (walk.dims, walk.src_strides) == (dims, src_strides)


@pytest.mark.parametrize(
    ("permutation", "error", "message"),
    [
        ((0, 0), ValueError, r"permutation \(0, 0\) must have each of 0 to 1 once, the axes of src_dims \(2, 3\)"),
        ((0, 2), ValueError, r"permutation \(0, 2\) must have"),
        ((-1, 0), ValueError, r"permutation\[0\] is -1; it must not be negative"),
        ((0,), ValueError, "permutation has 1 numbers for 2 dims"),
        ((0, 1.0), TypeError, r"permutation\[1\] must be an integer"),
        (1, TypeError, "permutation must be a sequence"),
    ],
)
def test_what_is_no_permutation_is_refused(permutation, error, message):
    with pytest.raises(error, match=message):
        as_permute_shape((2, 3), permutation, 8)


def test_more_dims_than_the_primitive_was_made_for():
    with pytest.raises(ValueError, match="src_dims has 3 dims; this primitive was made for at most 2"):
        as_permute_shape((2, 3, 4), (0, 1, 2), 2)
