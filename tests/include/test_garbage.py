"""Garbage collection is delayed inside of a block, and works as before afterwards."""

import gc
import os
import threading

import pytest

from ep.garbage import garbage_waits
from tests.subprocesses import run


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


_OLD = """
import gc
frozen = gc.get_freeze_count()
from ep.garbage import garbage_waits
with garbage_waits(all_is_kept={all_is_kept}):
    made = [[]]
print(any(one is made for one in gc.get_objects(generation=2)), frozen, gc.get_freeze_count())
"""


@pytest.mark.parametrize("all_is_kept", [True, False])
def test_objects_that_are_kept_are_old_afterwards(all_is_kept):
    old, before, after = run(_OLD.format(all_is_kept=all_is_kept)).split()
    assert before == after
    assert old == str(all_is_kept and before == "0")  # Python 3.12 starts with frozen objects


def test_what_the_program_has_frozen_stays_frozen(collects):
    before = [[]]
    gc.freeze()
    try:
        with garbage_waits(all_is_kept=True):
            made = [[]]
        visited = {id(each) for each in gc.get_objects()}  # all but the frozen ones
        assert id(before) not in visited
        assert id(made) in visited
    finally:
        gc.unfreeze()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_collects_garbage_though_another_thread_suspended_it(collects):
    inside, over = threading.Event(), threading.Event()

    def work():
        with garbage_waits():
            inside.set()
            over.wait()

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    child = os.fork()
    if not child:
        os._exit(gc.isenabled())
    over.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == collects
    assert gc.isenabled() == collects
