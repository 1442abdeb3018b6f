"""Sizes and strides of row-major arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.common.primitive.strides import (
    broadcast_strides,
    contiguous_strides,
    expanded_strides,
    extent,
    writes_once,
)

DIMS = st.lists(st.integers(0, 4), max_size=5)


@pytest.mark.parametrize(
    ("dims", "strides"), [((), ()), ((7,), (1,)), ((6, 3, 4, 5), (60, 20, 5, 1)), ((2, 1, 3), (3, 3, 1))]
)
def test_contiguous_strides(dims, strides):
    assert contiguous_strides(dims) == strides


@given(dims=st.lists(st.integers(1, 4), max_size=5))
def test_contiguous_strides_are_numpys(dims):
    assert contiguous_strides(dims) == tuple(stride // 8 for stride in np.empty(dims).strides)


@pytest.mark.parametrize(
    ("src_dims", "num_dims", "strides"),
    [
        ((4, 1, 3, 5), 6, (0, 0, 15, 0, 5, 1)),  # broadcast to (2, 1, 4, 4, 3, 5)
        ((4, 3, 1, 2), 5, (0, 6, 2, 0, 1)),  # broadcast to (2, 4, 3, 4, 2)
        ((), 3, (0, 0, 0)),
        ((1,), 1, (0,)),
        ((3, 5), 2, (5, 1)),
    ],
)
def test_expanded_strides(src_dims, num_dims, strides):
    assert expanded_strides(src_dims, contiguous_strides(src_dims), num_dims) == strides


@given(dims=DIMS, new=st.integers(0, 3), step=st.integers(0, 9))
def test_broadcast_strides(dims, new, step):
    """Test the strides of a contiguous array whose elements may be matrices."""
    strides = [step * stride for stride in contiguous_strides(dims)]
    assert broadcast_strides(dims, new + len(dims), step) == expanded_strides(dims, strides, new + len(dims))


def test_expanded_strides_of_a_strided_source():
    assert expanded_strides((4, 1, 5), (100, 7, 2), 4) == (0, 100, 0, 2)


@pytest.mark.parametrize(
    ("dims", "strides", "elements"),
    [
        ((), (), 1),
        ((5,), (1,), 5),
        ((5,), (3,), 13),
        ((5,), (0,), 1),
        ((4, 5), (5, 1), 20),
        ((4, 5), (100, 1), 305),
        ((1, 5), (100, 1), 5),
        ((4, 0), (5, 1), 0),
    ],
)
def test_extent(dims, strides, elements):
    assert extent(dims, strides) == elements


@given(dims=DIMS)
def test_extent_of_a_contiguous_array_is_its_size(dims):
    assert extent(dims, contiguous_strides(dims)) == int(np.prod(dims, dtype=int))


@pytest.mark.parametrize(
    ("dims", "strides", "once"),
    [
        ((), (), True),
        ((3, 4), (4, 1), True),
        ((3, 4), (1, 3), True),
        ((3, 4), (40, 10), True),
        ((3, 4), (3, 1), False),  # the last element of a row is the first one of the next
        ((3, 4), (0, 1), False),
        ((1, 4), (0, 1), True),
        ((3, 4), (1, 1), False),
        ((3, 2), (2, 3), True),  # 0 3 2 5 4 7
        ((4, 2), (2, 3), True),
        ((4, 3), (2, 3), False),  # 6 is reached in two ways
        ((2, 3, 5), (15, 6, 10), True),
        ((3, 3, 5), (15, 6, 10), False),  # 30 = 2 * 15 = 3 * 10
        ((5, 5, 5), (50, 57, 73), True),
        ((5, 5, 5), (50, 51, 52), False),
        ((3, 4), (-4, 1), True),
        ((3, 4), (-3, 1), False),
        ((100, 100, 100), (10**9, 10**9 + 1, 10**9 + 1_000_007), True),
        ((2, 2, 2), (2**62, 2**62 + 1, 2**63 + 1), False),
        ((0, 4), (0, 0), True),
    ],
)
def test_writes_once(dims, strides, once):
    assert writes_once(dims, strides) is once


@given(data=st.data())
def test_writes_once_is_exact(data):
    dims = data.draw(DIMS)
    strides = tuple(data.draw(st.integers(-30, 30)) for _ in dims)
    places = [sum(np.multiply(index, strides)) for index in np.ndindex(*dims)]
    assert writes_once(dims, strides) is (len(set(places)) == len(places))


@given(dims=DIMS, order=st.randoms(use_true_random=False))
def test_every_order_of_a_contiguous_array_writes_once(dims, order):
    axes = [*zip(dims, contiguous_strides(dims), strict=True)]
    order.shuffle(axes)
    assert writes_once([size for size, _ in axes], [stride for _, stride in axes])
