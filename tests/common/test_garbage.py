"""Garbage collection is delayed while kernels compile, and works as before afterwards."""

import gc

import pytest

from ep.common.garbage import garbage_waits


@pytest.fixture(params=[True, False], ids=["collected", "never collected"])
def collects(request):
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_garbage_waits_inside(collects):
    with garbage_waits():
        assert not gc.isenabled()
        with garbage_waits():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() == collects


def test_it_is_as_before_after_a_failure(collects):
    with pytest.raises(OSError, match="in between"), garbage_waits():
        raise OSError("in between")
    assert gc.isenabled() == collects
