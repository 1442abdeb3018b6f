"""Blocks like earlier ones: operators, numbers, views, errors, threads and references are those of a first block."""

import gc
import operator
import sys

import numpy as np
import pytest

import ep
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed
from tests.threads import run_together

REAL = np.float32
MANY_VIEWS = 70
BINARY = "add", "sub", "mul", "truediv", "mod", "pow"
COMPARISONS = "lt", "le", "gt", "ge", "eq", "ne"


def repeated(block, times=4):
    """Run a block several times: the first time, it is new."""
    for _ in range(times):
        block()


@pytest.mark.parametrize("name", BINARY)
def test_each_operator(name, device, rng):
    function, in_place = getattr(operator, name), getattr(operator, f"i{name}")
    arrays = rng.random((4, 7, 11), REAL) + REAL(0.5)
    x, y = arrays[:2]
    wanted = [function(x, y), function(y, REAL(1.5)), function(x, REAL(2.5)), function(REAL(2.5), x)]
    found = []
    for _ in range(4):
        made = [placed(device, one) for one in arrays]
        with ep.lazy() as lazy:
            a, b, *others = [lazy.view(one) for one in made]
            results = function(a, b), function(a, 2.5), function(2.5, a)
            same = b
            b = in_place(b, 1.5)
            assert b is same
            for view, result in zip((a, *others), results, strict=True):
                view[...] = result
        found.append([host(one) for one in made])
    for one, expected in zip(found[0], wanted, strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-5)
    for other in found[1:]:
        assert [one.tobytes() for one in other] == [one.tobytes() for one in found[0]]


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_and_operators_of_one_operand(name, device, rng):
    function = getattr(operator, name)
    x, y = rng.integers(-3, 3, (2, 13)).astype(REAL)
    for _ in range(4):
        a, b = placed(device, x), placed(device, y)
        with ep.lazy() as lazy:
            of_a, of_b = lazy.view(a), lazy.view(b)
            of_a[...] = ep.ops.where(function(of_a, of_b), -of_a, abs(of_b))
        assert np.array_equal(host(a), np.where(function(x, y), -x, abs(y)))


def test_operands_and_operators_that_differ(device, rng):
    x, y = rng.random((2, 3, 5), REAL) + 1

    def check(function):
        a, b = placed(device, x), placed(device, y)
        with ep.lazy() as lazy:
            of_a, of_b = lazy.view(a), lazy.view(b)
            of_a[...] = function(of_a, of_b)
        np.testing.assert_allclose(host(a), function(x, y), rtol=1e-6)

    functions = [operator.sub, lambda a, b: b - a, operator.mul, lambda a, b: a - a, lambda a, b: a - REAL(2)]
    numbers = 2.0, -2.0, 2, True, 0.0, -0.0, 3.5, 10**6
    functions[-1:] = [lambda a, b, number=number: a - number for number in numbers]
    functions += [lambda a, b, number=number: number - b for number in numbers]
    for _ in range(3):
        for function in functions:
            check(function)


def test_the_bits_of_numbers(rng):
    """0.0 equals -0.0, and NaN does not equal itself."""
    x = np.ones(7, np.float64)
    for number in (0.0, 0.0, 0.0, -0.0, float("nan"), float("nan"), 0.0, -0.0):
        y = x.copy()
        with ep.lazy() as lazy:
            view = lazy.view(y)
            view[...] = view * number
        assert y.tobytes() == (x * number).tobytes()


def test_a_number_is_not_an_array_without_axes(device, rng):
    x, y = rng.random(5, REAL), np.array(rng.random(), REAL)

    def of_array(a, b):
        with ep.lazy() as lazy:
            of_a, of_b = lazy.view(a), lazy.view(b)
            of_a[...] = of_a * of_b

    def of_number(a, number):
        with ep.lazy() as lazy:
            of_a = lazy.view(a)
            of_a[...] = of_a * number

    for turn in range(4):
        for block in (of_array, of_number) if turn % 2 else (of_number, of_array):
            a = placed(device, x)
            block(a, placed(device, y) if block is of_array else float(y))
            assert np.array_equal(host(a), x * y)


def test_blocks_that_are_open_together(device, rng):
    x, y = rng.random((2, 4, 3), REAL)

    def block():
        a, b = placed(device, x), placed(device, y)
        with ep.lazy() as outer, ep.lazy() as inner:
            of_a, of_b = outer.view(a), inner.view(b)
            one, other = of_a * 0.5, of_b * 0.5
            with pytest.raises(TypeError, match="is no part of the trace of a block"):
                of_a * of_b
            with pytest.raises(TypeError, match="is no part of the trace of a block"):
                one + other
            with pytest.raises(TypeError, match="is no part of the trace of a block"):
                of_a[...] = other
            of_a[...], of_b[...] = one + of_a, other + of_b
        assert np.array_equal(host(a), x * REAL(0.5) + x)
        assert np.array_equal(host(b), y * REAL(0.5) + y)
        with pytest.raises(RuntimeError, match="has ended"):
            of_a * 0.5
        with pytest.raises(RuntimeError, match="has ended"):
            of_a[...] = one
        with pytest.raises(RuntimeError, match="has ended"):
            outer.view(a)

    repeated(block)


def test_an_exception_in_the_middle(device, rng):
    x, y = rng.random((2, 9), REAL)
    for turn in range(6):
        a, b = placed(device, x), placed(device, y)
        with pytest.raises(KeyError) if turn % 2 else pytest.raises(ZeroDivisionError), ep.lazy() as lazy:
            of_a, of_b = lazy.view(a), lazy.view(b)
            of_a[...] = of_a * 2.0
            of_b += of_a
            raise KeyError if turn % 2 else ZeroDivisionError
        assert (host(a).tobytes(), host(b).tobytes()) == (x.tobytes(), y.tobytes())


def test_assignments_that_do_not_fit(rng):
    x, y, z = rng.random((3, 1)), rng.random((3, 4)), rng.random((3, 1)).astype(REAL)

    def block():
        with ep.lazy() as lazy:
            of_x, of_y, of_z = map(lazy.view, (x, y, z))
            with pytest.raises(ValueError, match="value has shape"):
                of_x += of_y
            with pytest.raises(TypeError, match="value has dtype"):
                of_z[...] = of_x
            with pytest.raises(TypeError, match="a part of a view"):
                of_y[0] = of_x
            with pytest.raises(TypeError, match="what is not a view"):
                (of_x * 1.0)[...] = of_x
            of_y[...] = of_x

    repeated(block)
    assert np.array_equal(y, np.broadcast_to(x, y.shape))


def test_views_that_overlap_and_many_views(rng):
    memory = rng.random((MANY_VIEWS, 3))
    strided, empty = rng.random((3, 6))[:, ::2], np.zeros((0, 3))

    def scale_first(*arrays):
        with ep.lazy() as lazy:
            first, *_ = [lazy.view(one) for one in arrays]
            first *= 2.0

    def block():
        wanted = memory * 2
        with ep.lazy() as lazy:
            rows = [*memory]
            views = [lazy.view(one) for one in (rows[0], empty, *rows[1:9])]
            assert lazy.view(rows[4]) is lazy.view(rows[4][:]) is views[5]
            assert lazy.view(empty) is views[1]
            views += [lazy.view(one) for one in (strided, *rows[9:])]
            assert len({id(one) for one in views}) == MANY_VIEWS + 2
            for view in views:
                view *= 2.0
        assert memory.tobytes() == wanted.tobytes()
        before = memory.copy()
        with pytest.raises(ValueError, match="view 0 is assigned to and overlaps view 2"):
            scale_first(memory[:2], memory[2], memory[1])
        assert memory.tobytes() == before.tobytes()

    repeated(block, 6)


def test_threads_with_blocks_of_their_own(rng):
    arrays = rng.random((4, 100, 3, 5), REAL)
    wanted = (arrays * REAL(0.5) + arrays) * arrays

    def work(each):
        for one in each:
            with ep.lazy() as lazy:
                view = lazy.view(one)
                view[...] = (view * 0.5 + view) * view

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        run_together(work, [(each,) for each in arrays])
    finally:
        sys.setswitchinterval(interval)
    assert arrays.tobytes() == wanted.tobytes()


def test_references_are_given_back(rng):
    x, y, number = rng.random((3, 5)), rng.random((3, 5)), 0.37
    shared = type(ep.lazy()), np.dtype(np.float64), None, number, x, y

    def block(numbers):
        for one in numbers:
            with ep.lazy() as lazy:
                of_x, of_y = lazy.view(x), lazy.view(y)
                of_x[...] = of_x * number + of_y * one
                of_x -= of_y

    numbers = [0.1] * 500, [k / 500 for k in range(500)]
    block(numbers[0])
    block(numbers[1])
    gc.collect()
    before = [sys.getrefcount(one) for one in shared]
    for some in numbers:
        block(some)
    gc.collect()
    for one, count in zip(shared, before, strict=True):
        assert abs(sys.getrefcount(one) - count) < 500, one  # a block has several of each


def test_wrong_calls_of_methods(rng):
    x = rng.random(5)

    def block():
        with ep.lazy() as lazy:
            view = lazy.view(x)
            kind = type(view)
            for call in (
                lambda: view.__mul__(),
                lambda: view.__mul__(1.0, 2.0),
                lambda: view.__setitem__(...),
                lambda: lazy.view(),
                lambda: view * object(),
                lambda: kind.__mul__(2.0),
            ):
                with pytest.raises(TypeError):
                    call()
            assert view.__mul__(object()) is NotImplemented
            assert lazy.view(array=x) is view
            view[...] = view.__mul__(other=2.0) * 0.5

    before = x.copy()
    repeated(block)
    assert x.tobytes() == before.tobytes()
