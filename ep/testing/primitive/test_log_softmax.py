"""LogSoftmax: every type, every number of columns, special rows, and what Launch refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import LogSoftmaxFactory
from ep.testing import rows
from ep.testing.keys import every_key, registered_keys, some_key
from ep.testing.references.softmax import log_softmax
from ep.testing.tolerances import Library

TESTED = rows.LOG_SOFTMAX
KEYS = [(DataType.kFloat,), (DataType.kDouble,), (DataType.kBFloat16,)]


@every_key(LogSoftmaxFactory)
def test_every_key(device, rng, key):
    rows.check_key(device, rng, TESTED, *key)


@pytest.mark.parametrize("cols", rows.ALL_COLS)
@some_key(LogSoftmaxFactory, *KEYS)
def test_every_number_of_columns(device, rng, key, cols):
    rows.check_cols(device, rng, TESTED, key, cols)


@pytest.mark.parametrize("shape", rows.LARGE, ids=str)
@some_key(LogSoftmaxFactory, *KEYS)
def test_large(device, rng, key, shape):
    rows.check_large(device, rng, TESTED, key, shape)


@some_key(LogSoftmaxFactory, *KEYS)
def test_memory_that_is_not_aligned(device, rng, key):
    rows.check_places(device, rng, TESTED, *key)


@some_key(LogSoftmaxFactory, *KEYS)
def test_nothing(device, key):
    rows.check_nothing(device, TESTED, *key)


@some_key(LogSoftmaxFactory, (DataType.kFloat,))
@given(data=st.data(), num_rows=st.integers(1, 9), cols=st.integers(1, 40), spread=st.floats(0, 30))
def test_any_sizes(device, key, data, num_rows, cols, spread):
    """Of any type that the device registers."""
    (data_type,) = data.draw(st.sampled_from(registered_keys(device.type, LogSoftmaxFactory)))
    sources = TESTED.draw(np.random.default_rng(cols), data_type, num_rows, cols, spread)
    rows.check(device, TESTED, data_type, sources)


@some_key(LogSoftmaxFactory, (DataType.kFloat,))
def test_refusals(device, key, refuses):
    rows.check_refusals(device, TESTED, *key, refuses)


@every_key(LogSoftmaxFactory)
def test_special_rows(device, key):
    """A row with NaN, with +inf, or of -inf alone gives NaN; -inf beside numbers is -inf."""
    x = rows.special_rows(*key)
    got = rows.launch(device, TESTED, key[0], [x])
    assert np.isnan(got[:5].astype(np.float32)).all()
    rows.check_close(device, TESTED, *key, got, [x])
    assert (got[5, ::2].astype(np.float32) == -np.inf).all()
    assert (got[7] == got[7, 0]).all()


@some_key(LogSoftmaxFactory, *KEYS)
def test_what_is_left_of_one(device, key):
    """The result of an element that has nearly all is the sum of the others, which one minus that would have lost."""
    (data_type,) = key
    x = np.array([[30, 0, 1], [12, 0, -1], [0, -3, 20], [60, 0, 0]], data_type.dtype)
    got = rows.launch(device, TESTED, data_type, [x])
    rows.check_close(device, TESTED, data_type, got, [x])
    if device.library is Library.VECTOR_MATH and data_type is not DataType.kBFloat16:
        want = log_softmax(x)[0]
        assert np.abs(got / want - 1).max() < (1e-6 if data_type is DataType.kFloat else 1e-14)
