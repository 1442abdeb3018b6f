"""UnsortedSegmentSum: every pair of types, the order of rows, ids out of range, and invalid arguments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import UnsortedSegmentSumFactory
from ep.testing import segments
from ep.testing.keys import every_key, some_key

SOME = [
    (DataType.kFloat, DataType.kInt64),
    (DataType.kFloat16, DataType.kInt32),
    (DataType.kUInt8, DataType.kUInt16),
    (DataType.kComplex128, DataType.kInt8),
]
BATCH = 1


@every_key(UnsortedSegmentSumFactory)
def test_every_key(device, rng, key):
    segments.check(device, rng, UnsortedSegmentSumFactory, key, (BATCH, 2, 5, 3), num_ids=41, offset=2)


@pytest.mark.parametrize("inner", segments.ALL_INNER)
@some_key(UnsortedSegmentSumFactory, *SOME)
def test_every_size_of_rows(device, rng, key, inner):
    segments.check(device, rng, UnsortedSegmentSumFactory, key, (BATCH, 1, 11, inner), num_ids=23)


@pytest.mark.parametrize(("shape", "num_ids"), segments.LARGE, ids=str)
@some_key(UnsortedSegmentSumFactory, *SOME)
def test_across_threads(device, rng, key, shape, num_ids):
    segments.check_large(device, rng, UnsortedSegmentSumFactory, key, (BATCH, *shape), num_ids)


@pytest.mark.parametrize("order", ["equal", "sorted", "reversed", "two"])
@some_key(UnsortedSegmentSumFactory, *SOME)
def test_orders_of_ids(device, rng, key, order):
    segments.check_order(device, rng, UnsortedSegmentSumFactory, key, BATCH, order)


@pytest.mark.parametrize("offset", [0, 1, 100, -3, 2**62, -(2**62)])
@some_key(UnsortedSegmentSumFactory, *((DataType.kFloat, t) for t in segments.IDS))
def test_extreme_ids_and_offsets(device, key, offset):
    """Nothing wraps around: the least and the largest id of every type, with the least and largest offset."""
    segments.check_extremes(device, UnsortedSegmentSumFactory, key, BATCH, offset)


@pytest.mark.parametrize("empty", ["outer", "segments", "inner", "ids"])
@some_key(UnsortedSegmentSumFactory, SOME[0])
def test_zero_sizes(device, rng, key, empty):
    sizes = {"batch": BATCH, "outer": 3, "segments": 5, "inner": 4, "ids": 6} | {empty: 0}
    *shape, num_ids = sizes.values()
    segments.check(device, rng, UnsortedSegmentSumFactory, key, shape, num_ids)


@some_key(UnsortedSegmentSumFactory, *SOME)
def test_special_values(device, rng, key):
    segments.check_special(device, rng, UnsortedSegmentSumFactory, key, BATCH)


@some_key(UnsortedSegmentSumFactory, *SOME)
def test_memory_that_is_not_aligned(device, rng, key):
    segments.check_places(device, rng, UnsortedSegmentSumFactory, key, BATCH)


@some_key(UnsortedSegmentSumFactory, (DataType.kFloat, DataType.kInt16))
@given(
    sizes=st.tuples(st.just(1), st.integers(0, 4), st.integers(0, 7), st.integers(0, 6)),
    num_ids=st.integers(0, 30),
    offset=st.integers(-3, 3),
)
def test_any_sizes(device, key, sizes, num_ids, offset):
    segments.check(device, np.random.default_rng(num_ids), UnsortedSegmentSumFactory, key, sizes, num_ids, offset)


@some_key(UnsortedSegmentSumFactory, SOME[0])
class TestRefusals(segments.Refusals):
    factory = UnsortedSegmentSumFactory
    sizes = ("outer_dim_size", "num_segments", "inner_dim_size", "num_ids")
