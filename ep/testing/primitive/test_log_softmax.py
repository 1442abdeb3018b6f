"""LogSoftmax: the tests of all softmaxes, and special softmaxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ep.include import DataType
from ep.include.primitive import LogSoftmaxFactory
from ep.testing import softmaxes
from ep.testing.arrays import Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, some_key
from ep.testing.references.softmax import log_softmax
from ep.testing.softmax_tests import KEYS, softmax_tests
from ep.testing.tolerances import Library

TESTED = softmaxes.LOG_SOFTMAX
TestRows = softmax_tests(TESTED)


@pytest.mark.parametrize("level", softmaxes.LEVELS)
@every_key(LogSoftmaxFactory)
def test_rows_at_any_level(device: DeviceUnderTest, rng: Rng, key: FlatKey, level: Any) -> None:
    softmaxes.check(device, TESTED, key[0], [softmaxes.rows_at_level(rng, key[0], level)])


@every_key(LogSoftmaxFactory)
def test_special_rows(device: DeviceUnderTest, key: FlatKey) -> None:
    """A row with NaN, with +inf, or of only -inf gives NaN; an element -inf among numbers gives -inf."""
    x = softmaxes.special_rows(*key)
    got = softmaxes.launch(device, TESTED, key[0], [x])
    assert np.isnan(got[:5].astype(np.float32)).all()
    softmaxes.check_close(device, TESTED, key[0], got, [x])
    assert (got[5, ::2].astype(np.float32) == -np.inf).all()
    assert (got[7] == got[7, 0]).all()


@some_key(LogSoftmaxFactory, *KEYS)
def test_what_is_left_of_one(device: DeviceUnderTest, key: FlatKey) -> None:
    """The result of an element with nearly the whole sum is computed from the others: 1 - y would lose all digits."""
    (data_type,) = key
    x = np.array([[30, 0, 1], [12, 0, -1], [0, -3, 20], [60, 0, 0]], data_type.dtype)
    got = softmaxes.launch(device, TESTED, data_type, [x])
    softmaxes.check_close(device, TESTED, data_type, got, [x])
    if device.library is Library.VECTOR_MATH and data_type is not DataType.kBFloat16:
        want = log_softmax(x)[0]
        assert np.abs(got / want - 1).max() < (1e-6 if data_type is DataType.kFloat else 1e-14)
