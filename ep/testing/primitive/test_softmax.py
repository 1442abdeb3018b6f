"""Softmax: the tests of all softmaxes, and special rows."""

import numpy as np
import pytest

from ep.include.primitive import SoftmaxFactory
from ep.testing import rows
from ep.testing.keys import every_key
from ep.testing.row_tests import row_tests

TESTED = rows.SOFTMAX
TestRows = row_tests(TESTED)


@pytest.mark.parametrize("level", rows.LEVELS)
@every_key(SoftmaxFactory)
def test_rows_at_any_level(device, rng, key, level):
    rows.check(device, TESTED, *key, [rows.rows_at_level(rng, *key, level)])


@every_key(SoftmaxFactory)
def test_special_rows(device, key):
    """A row with NaN, with +inf, or of -inf alone gives NaN; -inf beside numbers is 0."""
    x = rows.special_rows(*key)
    got = rows.launch(device, TESTED, key[0], [x])
    assert np.isnan(got[:5].astype(np.float32)).all()
    rows.check_close(device, TESTED, *key, got, [x])
    assert (got[5, ::2].astype(np.float32) == 0).all()
    assert (got[7] == got[7, 0]).all()
