"""Calls that compiled code runs: those that it recognises, and the references that it keeps."""

import sys
import threading

import numpy as np
import pytest

from ep.cpu.engine.known_calls import CpuCallFinder
from ep.garbage import garbage_waits
from ep.include.arrays import RESULT, UNKNOWN, KnownCall, Placeholder

X = np.arange(6, dtype=np.float32).reshape(2, 3)
SHAPE, DTYPE = (2, 3), np.dtype(np.float64)


class Launches:
    """A launch that records its arguments, or raises `error` if it is set."""

    def __init__(self):
        self.given, self.error = [], None

    def __call__(self, *args):
        if self.error is not None:
            raise self.error
        self.given.append(args)
        args[-1][...] = args[1]


@pytest.fixture
def launches():
    return Launches()


@pytest.fixture
def finder(launches):
    """Return a finder that knows the call f(X, 5, axis="last")."""
    found = CpuCallFinder()
    found.add(found.known(known_call(launches, X, 5, axis="last")))
    return found


def known_call(launch, x, *others, **named):
    arguments = ("stream", Placeholder(0), RESULT)
    return KnownCall((x, *others, *named.values()), tuple(named), 1, SHAPE, DTYPE, launch, arguments)


def test_a_known_call(finder, launches):
    x = X + 1
    result = finder.find(x, 5, axis="last")
    assert (result.dtype, result.shape) == (DTYPE, SHAPE)
    assert np.array_equal(result, x)
    ((stream, given, out),) = launches.given
    assert (stream, given is x, out is result) == ("stream", True, True)


class Subclass(np.ndarray):
    pass


UNALIGNED = np.zeros(25, np.uint8)[1:].view(np.float32).reshape(2, 3)
OTHERS = {
    "no arguments": ((), {}),
    "fewer": ((X, 5), {}),
    "more": ((X, 5, 5), {"axis": "last"}),
    "by position": ((X, 5, "last"), {}),
    "another name": ((X, 5), {"axes": "last"}),
    "two names": ((X,), {"size": 5, "axis": "last"}),
    "another value": ((X, 6), {"axis": "last"}),
    "an equal value": ((X, 5.0), {"axis": "last"}),
    "shape": ((X.reshape(3, 2), 5), {"axis": "last"}),
    "rank": ((X.reshape(-1), 5), {"axis": "last"}),
    "no rank": ((np.array(1, np.float32), 5), {"axis": "last"}),
    "dtype": ((X.astype(np.int32), 5), {"axis": "last"}),
    "byte order": ((X.astype(">f4"), 5), {"axis": "last"}),
    "order": ((np.asfortranarray(X), 5), {"axis": "last"}),
    "gaps": ((np.zeros((2, 6), np.float32)[:, ::2], 5), {"axis": "last"}),
    "alignment": ((UNALIGNED, 5), {"axis": "last"}),
    "subclass": ((X.view(Subclass), 5), {"axis": "last"}),
    "list": ((X.tolist(), 5), {"axis": "last"}),
    "None": ((None, 5), {"axis": "last"}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_calls_that_are_not_known(finder, launches, name):
    args, kwargs = OTHERS[name]
    assert finder.find(*args, **kwargs) is UNKNOWN
    assert not launches.given


def test_arrays_of_no_elements_and_of_no_axes(launches):
    for x in (np.zeros((0, 3)), np.array(2.0), np.zeros((1,) * 8)):
        finder = CpuCallFinder()
        finder.add(finder.known(KnownCall((x,), (), 1, x.shape, DTYPE, launches, ("stream", Placeholder(0), RESULT))))
        result = finder.find(x.copy())
        assert (result.shape, result.tolist()) == (x.shape, x.tolist())


def test_what_no_finder_does(finder, launches):
    assert finder.known(known_call(launches, np.zeros((1,) * 9, np.float32))) is None
    assert finder.known(known_call(launches, X, *range(8))) is None
    assert finder.known(known_call(launches, X)._replace(arguments=(RESULT,) * 17)) is None


def test_the_calls_that_were_known_last_are_kept(launches):
    finder = CpuCallFinder()
    arrays = [np.ones(size, np.float32) for size in range(1, 21)]
    calls = [finder.known(known_call(launches, one)._replace(shape=one.shape)) for one in arrays]
    for call in calls:
        finder.add(call)
        finder.add(call)  # the finder already has it
    assert [one.size for one in arrays if finder.find(one) is not UNKNOWN] == list(range(5, 21))
    finder.add(calls[0])  # after it was dropped
    assert [one.size for one in arrays if finder.find(one) is not UNKNOWN] == [1, *range(6, 21)]


def test_errors_of_a_launch_and_of_memory(finder, launches):
    launches.error = KeyError("launched")
    x = X.copy()
    with garbage_waits():  # that of earlier tests has references to DTYPE
        count, before = sys.getrefcount(x), sys.getrefcount(DTYPE)
        for _ in range(1000):
            with pytest.raises(KeyError, match="launched"):
                finder.find(x, 5, axis="last")
        launches.error = None
        assert abs(sys.getrefcount(x) - count) < 5
        assert abs(sys.getrefcount(DTYPE) - before) < 500
    huge = CpuCallFinder()
    huge.add(huge.known(known_call(launches, X)._replace(shape=(2**40, 2**10))))
    with pytest.raises((MemoryError, ValueError)):
        huge.find(X)


def test_a_launch_that_forgets_its_own_call(finder, launches):
    """Compiled code keeps the objects of a call alive until the call returns."""

    def launch(stream, x, result):
        for size in range(1, 40):
            finder.add(finder.known(known_call(launches, np.zeros(size, np.int8))))
        result[...] = x

    finder.add(finder.known(known_call(launch, X.astype(np.int16))))
    for _ in range(3):
        result = finder.find(X.astype(np.int16))
        if result is not UNKNOWN:
            assert np.array_equal(result, X)
    assert finder.find(X.astype(np.int16)) is UNKNOWN


def test_threads_that_find_and_add():
    found, wrong = CpuCallFinder(), []

    def launch(stream, x, result):
        result[...] = x + 1

    def work(first):
        for number in range(3000):
            x = np.full((first + number) % 23 + 1, number % 50, np.float32)
            result = found.find(x)
            if result is UNKNOWN:
                call = KnownCall((x,), (), 1, x.shape, DTYPE, launch, ("stream", Placeholder(0), RESULT))
                found.add(found.known(call))
            elif result.shape != x.shape or not (result == x + 1).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(3 * place,)) for place in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
