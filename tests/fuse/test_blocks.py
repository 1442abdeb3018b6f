"""Blocks that record what an earlier block has recorded: other arrays and numbers, aliases, overlaps and errors."""

import warnings

import numpy as np
import pytest

import ep


def step(p, g, m, v, rate, beta=0.9):
    """Do a step of an optimizer in place."""
    with ep.lazy() as lazy:
        of_p, of_g, of_m, of_v = map(lazy.view, (p, g, m, v))
        of_m[...] = beta * of_m + (1 - beta) * of_g
        of_v[...] = beta * of_v + (1 - beta) * of_g * of_g
        of_p[...] -= rate * of_m / (ep.ops.sqrt(of_v) + 1e-6)


def by_numpy(p, g, m, v, rate, beta=0.9):
    number = np.float32
    m[...] = number(beta) * m + number(1 - beta) * g
    v[...] = number(beta) * v + number(1 - beta) * g * g
    p[...] -= number(rate) * m / (np.sqrt(v) + number(1e-6))


def test_other_numbers_and_arrays(rng):
    arrays = rng.random((4, 7, 11), np.float32)
    wanted = arrays.copy()
    for turn in range(6):
        gradient, rate = rng.random((7, 11), np.float32), 0.1 / (turn + 1)
        others = [*arrays[2:]] if turn % 2 else [np.copy(one) for one in arrays[2:]]
        step(arrays[0], gradient, *others, rate, 0.5 + turn / 20)
        by_numpy(wanted[0], gradient, wanted[2], wanted[3], rate, 0.5 + turn / 20)
        arrays[2:] = others
        np.testing.assert_array_max_ulp(arrays[[0, 2, 3]], wanted[[0, 2, 3]], 2)


def test_blocks_that_differ_in_the_middle(rng):
    def block(x, y, how):
        with ep.lazy() as lazy:
            of_x, of_y = lazy.view(x), lazy.view(y)
            twice = of_x * 2.0
            if how:
                twice = ep.ops.concat([twice[:1], of_y[how:]], axis=0)  # not known: its operands are a list
            of_y[...] = ep.ops.sub(twice, y=of_x) + of_y[None][0] * twice

    for how in (1, 0, 1, 0, 0, 1):
        x, y = rng.random((2, 5, 3))
        twice = np.concatenate([(x * 2)[:1], y[how:]]) if how else x * 2
        wanted = (twice - x) + y * twice
        block(x, y, how)
        assert y.tobytes() == wanted.tobytes()


def test_the_same_elements_are_one_view_in_known_blocks(rng):
    def block(a, b, c):
        with ep.lazy() as lazy:
            of_a, of_b, of_c = map(lazy.view, (a, b, c))
            of_a[...] = of_b * 2.0
            of_c[...] = of_b + 1.0

    for _ in range(2):
        x, y, c = rng.random((3, 6))
        block(x, y, c)
        assert c.tobytes() == (y + 1).tobytes()
        block(x, y, c)
        expected = x * 2 + 1  # the second view is the first one, which is assigned before it is read
        block(x, x[:], c)
        assert c.tobytes() == expected.tobytes()


def test_overlaps_and_read_only_arrays_are_refused_in_known_blocks(rng):
    def block(a, b):
        with ep.lazy() as lazy:
            of_a, of_b = lazy.view(a), lazy.view(b)
            of_a[...] = of_b * 2.0

    memory = rng.random(20)
    a, b = memory[:8], memory[8:16]
    for _ in range(3):
        block(a, b)
    before = memory.copy()
    with pytest.raises(ValueError, match="view 0 is assigned to and overlaps view 1"):
        block(a, memory[4:12])
    a.flags.writeable = False
    with pytest.raises(ValueError, match="view 0 is read-only"):
        block(a, b)
    assert memory.tobytes() == before.tobytes()
    a.flags.writeable = True
    block(a, b)
    assert a.tobytes() == (before[8:16] * 2).tobytes()


def test_errors_in_known_blocks(rng):
    def block(array, number, other=None):
        with ep.lazy() as lazy:
            view = lazy.view(array)
            view[...] = view * number + (view if other is None else other)
        return view

    numbers = np.arange(5, dtype=np.int8)
    for _ in range(2):
        ended = block(numbers, 1)
    before = numbers.copy()
    with pytest.raises(ValueError, match="y is 300, which int8 does not hold"):
        block(numbers, 300)
    with pytest.raises(RuntimeError, match="has ended"):
        block(numbers, 1, ended)
    with pytest.raises(TypeError, match="is no part of the trace of a block"), ep.lazy() as lazy:
        block(numbers, 1, lazy.view(numbers))
    with ep.lazy() as lazy, ep.lazy() as inner:
        view, other = lazy.view(numbers), inner.view(before)
        with pytest.raises(TypeError, match=r"value \(LazyArray\) is no part of the trace of a block"):
            other[...] = view
        with pytest.raises(TypeError, match="out is given"):
            ep.ops.mul(view, 1, out=numbers)
    assert numbers.tobytes() == before.tobytes()


def test_swaps_and_equal_values(rng):
    def block(a, b, c):
        with ep.lazy() as lazy:
            of_a, of_b, of_c = map(lazy.view, (a, b, c))
            old = of_a * 1.0
            of_a[...] = of_b
            of_b[...] = old
            of_c[...] = old

    for _ in range(3):
        a, b, c = rng.random((3, 9))
        old = a.copy(), b.copy()
        block(a, b, c)
        assert [one.tobytes() for one in (a, b, c)] == [old[k].tobytes() for k in (1, 0, 0)]


def test_strided_arrays_and_changed_shapes(rng):
    def block(x, y):
        with ep.lazy() as lazy:
            of_x, of_y = lazy.view(x), lazy.view(y)
            of_y[...] = of_x * of_y

    x, memory = rng.random((4, 6)), rng.random((4, 12))
    for y in (memory[:, ::2], memory[:, :6].copy(), memory[:, 6:], memory[:, ::-2]):
        wanted = x * y
        block(x, y)
        assert y.tobytes() == wanted.tobytes()
    y = memory[:, :6].copy()
    for _ in range(2):
        block(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from NumPy 2.5 on
        x.shape = y.shape = 8, 3
    wanted = x * y
    block(x, y)
    assert y.tobytes() == wanted.tobytes()
