"""Indices and offsets: on the host against NumPy, and in compiled code."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.common.primitive.nd_index_offset_helper import NdIndexOffsetHelper, nd_index_to_offset, offset_to_nd_index
from ep.common.primitive.strides import contiguous_strides


@st.composite
def dims_and_offset(draw, largest=5, max_dims=10):
    dims = draw(st.lists(st.integers(1, largest), max_size=max_dims))
    return tuple(dims), draw(st.integers(0, math.prod(dims) - 1))


class TestOnTheHost:
    @given(case=dims_and_offset())
    def test_is_numpys(self, case):
        dims, offset = case
        helper = NdIndexOffsetHelper(dims)
        index = helper.OffsetToNdIndex(offset)
        assert index == tuple(map(int, np.unravel_index(offset, dims)))
        assert helper.NdIndexToOffset(index) == offset
        assert not dims or np.ravel_multi_index(index, dims) == offset

    @given(case=dims_and_offset(largest=2**20))
    def test_round_trips_of_any_size(self, case):
        """Python's integers do not wrap at 32 or 64 bits."""
        dims, offset = case
        helper = NdIndexOffsetHelper(dims)
        assert helper.NdIndexToOffset(helper.OffsetToNdIndex(offset)) == offset

    def test_every_element(self):
        helper = NdIndexOffsetHelper((2, 3, 4))
        assert helper.strides == (12, 4, 1)
        indices = [helper.OffsetToNdIndex(offset) for offset in range(24)]
        assert indices == list(np.ndindex(2, 3, 4))
        assert [helper.NdIndexToOffset(index) for index in indices] == list(range(24))

    def test_no_dims(self):
        helper = NdIndexOffsetHelper(())
        assert helper.OffsetToNdIndex(0) == ()
        assert helper.NdIndexToOffset(()) == 0

    def test_a_shorter_index_means_the_leading_axes(self):
        helper = NdIndexOffsetHelper((6, 3, 4, 5))
        assert helper.NdIndexToOffset((2,)) == 120
        assert helper.NdIndexToOffset((2, 1)) == 140
        assert helper.NdIndexToOffset(()) == 0

    def test_numpys_integers_do_not_overflow(self):
        helper = NdIndexOffsetHelper((np.int32(2**20), np.int32(2**20), np.int8(3)))
        index = helper.OffsetToNdIndex(np.int64(2**41))
        assert index == (699050, 699050, 2)
        assert helper.NdIndexToOffset(np.array(index, np.int32)) == 2**41
        assert all(type(place) is int for place in index)

    def test_errors(self):
        with pytest.raises(ValueError, match=r"dims are \(2, 0\); each must be at least 1"):
            NdIndexOffsetHelper((2, 0))
        with pytest.raises(ValueError, match=r"dims are \(-1,\); each must be at least 1"):
            NdIndexOffsetHelper((-1,))
        with pytest.raises(TypeError, match="float"):
            NdIndexOffsetHelper((2.0, 3))
        helper = NdIndexOffsetHelper((2, 3))
        for offset in (-1, 6):
            with pytest.raises(ValueError, match=rf"offset is {offset}; the array has 6 elements"):
                helper.OffsetToNdIndex(offset)
        with pytest.raises(ValueError, match="index has 3 places for 2 dims"):
            helper.NdIndexToOffset((0, 0, 0))
        with pytest.raises(TypeError, match="float"):
            helper.NdIndexToOffset((0.5,))


@pytest.fixture(scope="module")
def in_compiled_code():
    """Return a compiled function that converts offsets to indices and back."""
    import numba

    from ep.cpu.compile.jit import jit
    from tests.cpu.outer import OUTER

    to_offset, to_index = jit(nd_index_to_offset), jit(offset_to_nd_index)

    @numba.njit(**OUTER)
    def round_trip(offsets, dims, strides, indices, back):
        for i in range(offsets.size):
            to_index(offsets[i], dims, dims.size, indices[i])
            back[i] = to_offset(indices[i], strides, dims.size)

    return round_trip


@pytest.mark.parametrize("integer", [np.int32, np.int64])
@pytest.mark.parametrize("dims", [(7,), (2, 3, 5), (1, 4, 1), (2, 3, 1, 2, 1, 3, 2, 2), (70_000, 30_001)], ids=str)
def test_in_compiled_code(in_compiled_code, rng, integer, dims):
    count = math.prod(dims)
    assert count < 2**31
    offsets = np.concatenate([[0, count - 1], rng.integers(0, count, 100)]).astype(integer)
    check(in_compiled_code, offsets, dims, integer)


def test_offsets_past_32_bits_in_compiled_code(in_compiled_code, rng):
    dims = (3, 2**20, 1, 5, 2**19 + 1)
    count = math.prod(dims)
    assert count > 2**42
    offsets = np.concatenate([[2**31 - 1, 2**31, 2**32, count - 1], rng.integers(0, count, 100)])
    check(in_compiled_code, offsets, dims, np.int64)


def check(round_trip, offsets, dims, integer):
    indices, back = np.empty((offsets.size, len(dims)), integer), np.empty(offsets.size, integer)
    round_trip(offsets, np.array(dims, integer), np.array(contiguous_strides(dims), integer), indices, back)
    np.testing.assert_array_equal(indices, np.transpose(np.unravel_index(offsets, dims)))
    np.testing.assert_array_equal(back, offsets)
