"""Softmax: the tests of all softmaxes, and special softmaxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ep.include.primitive import SoftmaxFactory
from ep.testing import softmaxes
from ep.testing.arrays import Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key
from ep.testing.softmax_tests import softmax_tests

TESTED = softmaxes.SOFTMAX
TestRows = softmax_tests(TESTED)


@pytest.mark.parametrize("level", softmaxes.LEVELS)
@every_key(SoftmaxFactory)
def test_rows_at_any_level(device: DeviceUnderTest, rng: Rng, key: FlatKey, level: Any) -> None:
    softmaxes.check(device, TESTED, key[0], [softmaxes.rows_at_level(rng, key[0], level)])


@every_key(SoftmaxFactory)
def test_special_rows(device: DeviceUnderTest, key: FlatKey) -> None:
    """A row with NaN, with +inf, or of only -inf gives NaN; an element -inf among numbers gives 0."""
    x = softmaxes.special_rows(*key)
    got = softmaxes.launch(device, TESTED, key[0], [x])
    assert np.isnan(got[:5].astype(np.float32)).all()
    softmaxes.check_close(device, TESTED, key[0], got, [x])
    assert (got[5, ::2].astype(np.float32) == 0).all()
    assert (got[7] == got[7, 0]).all()
