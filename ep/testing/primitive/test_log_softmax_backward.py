"""LogSoftmaxBackward: every type, every number of columns, special rows, and what Launch refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import LogSoftmaxBackwardFactory
from ep.testing import rows
from ep.testing.keys import every_key, registered_keys, some_key

TESTED = rows.LOG_SOFTMAX_BACKWARD
KEYS = [(DataType.kFloat,), (DataType.kDouble,), (DataType.kBFloat16,)]


@every_key(LogSoftmaxBackwardFactory)
def test_every_key(device, rng, key):
    rows.check_key(device, rng, TESTED, *key)


@pytest.mark.parametrize("cols", rows.ALL_COLS)
@some_key(LogSoftmaxBackwardFactory, *KEYS)
def test_every_number_of_columns(device, rng, key, cols):
    rows.check_cols(device, rng, TESTED, key, cols)


@pytest.mark.parametrize("shape", rows.LARGE, ids=str)
@some_key(LogSoftmaxBackwardFactory, *KEYS)
def test_large(device, rng, key, shape):
    rows.check_large(device, rng, TESTED, key, shape)


@some_key(LogSoftmaxBackwardFactory, *KEYS)
def test_memory_that_is_not_aligned(device, rng, key):
    rows.check_places(device, rng, TESTED, *key)


@some_key(LogSoftmaxBackwardFactory, *KEYS)
def test_nothing(device, key):
    rows.check_nothing(device, TESTED, *key)


@some_key(LogSoftmaxBackwardFactory, (DataType.kFloat,))
@given(data=st.data(), num_rows=st.integers(1, 9), cols=st.integers(1, 40), spread=st.floats(0, 30))
def test_any_sizes(device, key, data, num_rows, cols, spread):
    """Of any type that the device registers."""
    (data_type,) = data.draw(st.sampled_from(registered_keys(device.type, LogSoftmaxBackwardFactory)))
    sources = TESTED.draw(np.random.default_rng(cols), data_type, num_rows, cols, spread)
    rows.check(device, TESTED, data_type, sources)


@some_key(LogSoftmaxBackwardFactory, (DataType.kFloat,))
def test_refusals(device, key, refuses):
    rows.check_refusals(device, TESTED, *key, refuses)


@some_key(LogSoftmaxBackwardFactory, *KEYS)
def test_not_a_number_spreads_over_its_row(device, rng, key):
    y, dy = TESTED.draw(rng, *key, 4, 21)
    dy[1, 5], dy[2, 7] = np.nan, np.inf
    got = rows.launch(device, TESTED, *key, [y, dy]).astype(np.float32)
    assert np.isnan(got[1]).all()
    assert not np.isfinite(got[2]).any()
    assert np.isfinite(got[[0, 3]]).all()
