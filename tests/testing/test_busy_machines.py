"""A property does not fail on a slow machine: neither in the test, nor while its data are generated."""

import itertools
import time

from hypothesis import given, settings
from hypothesis import strategies as st


def test_no_property_fails_for_its_time(monkeypatch):
    @given(st.integers())
    @settings(max_examples=12)
    def property_of(number):
        assert isinstance(number, int)

    with monkeypatch.context() as patched:  # ten seconds pass between any two readings of the clock
        patched.setattr(time, "perf_counter", itertools.count(0.0, 10.0).__next__)
        property_of()
