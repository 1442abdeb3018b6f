"""Calls whose results a kept trace, shared memory or bad input could make wrong."""

import gc
import weakref

import numpy as np
import pytest

import ep
from ep.include.arrays import Arrays, Placed


@pytest.fixture
def x(rng):
    return rng.random((4, 4), np.float32)


def test_true_and_false_have_traces_of_their_own(x):
    fused = ep.fuse(lambda x, adds, kept=(True,): x + 1.0 if adds and kept[0] else x - 1.0)
    for adds, kept in ((True, (True,)), (False, (True,)), (True, (False,)), (True, (True,))):
        assert np.array_equal(fused(x, adds, kept=kept), x + 1 if adds and kept[0] else x - 1)


def test_an_input_that_a_view_reads_later_is_written_at_the_end(x):
    @ep.fuse
    def both(x):
        flat, total = x.reshape(16), x.sum(0)
        return x + total, flat + total.sum()

    expected, given = both(x), x.copy()
    first, second = both(given, out=(given, None))
    assert first is given
    assert np.array_equal(first, expected[0])
    assert np.array_equal(second, expected[1])


@pytest.mark.parametrize("order", [1, -1])
def test_results_that_are_views_of_an_input_that_is_written(order, x):
    fused = ep.fuse(lambda x: (x + 1.0, x.reshape(2, 8))[::order])
    given, flat = x.copy(), np.zeros((2, 8), np.float32)
    fused(given, out=(given, flat)[::order])
    assert np.array_equal(given, x + 1)
    assert np.array_equal(flat, x.reshape(2, 8))
    given = x.copy()
    view = fused(given, out=(given, None)[::order])[::order][1]
    assert np.array_equal(view, x.reshape(2, 8))


def test_inputs_are_swapped(x):
    one, other = x.copy(), x + 1
    ep.fuse(lambda x, y: (y, x))(one, other, out=(one, other))
    assert np.array_equal(one, x + 1)
    assert np.array_equal(other, x)


def test_arrays_are_not_kept(x):
    fused = ep.fuse(lambda x, rate: x * rate + rate * 2)
    fused(x.T, 3.0)
    given = x.copy().T
    fused(given, 2.0)
    with ep.lazy() as lazy:
        view = lazy.view(given)
        view[...] = view * 2.0
    reference = weakref.ref(given.base)
    del given
    gc.collect()
    assert reference() is None
    assert view is not None


CALLS = {
    "numbers": (lambda x, y, rate: x * rate + y, lambda fused, x, y: fused(x, y, 2.5)),
    "keywords": (lambda x, y: x * y, lambda fused, x, y: fused(x, y=y)),
    "lists": (lambda some: some[0] * some[1], lambda fused, x, y: fused([x, y])),
    "views": (lambda x, y: (ep.ops.transpose(x * y), x), lambda fused, x, y: fused(x, y)),
    "out": (lambda x, y: x * y, lambda fused, x, y: fused(x, y, out=np.empty_like(x))),
    "out that is an input": (lambda x, y: x * y, lambda fused, x, y: fused(x, y, out=y)),
    "out of another size": (lambda x, y: x * y, lambda fused, x, y: fused(x, y, out=np.empty(3, np.float32))),
    "out that overlaps": (lambda x, y: x[1:] * y[1:], lambda fused, x, y: fused(x, y, out=x[:-1])),
    "other sizes": (lambda x, y: x * y, lambda fused, x, y: fused(x, y[:, 1:])),
    "wrong indices": (
        lambda x, y: ep.ops.gather(x, ep.ops.cast(y, "int64")) * 2.0,
        lambda fused, x, y: fused(x, y + 99),
    ),
    "an error of the function": (lambda x, y: x * (1 / 0), lambda fused, x, y: fused(x, y)),
}


@pytest.mark.parametrize("name", CALLS)
def test_arrays_are_freed_at_once(name, x):
    """After a call, and after one that raises, without the garbage collector."""
    function, call = CALLS[name]
    fused, references, errors = ep.fuse(function), [], 0
    gc.collect()
    gc.disable()
    try:
        for turn in range(4):
            given = x.copy(), x + np.float32(1)
            try:
                found = call(fused, *given)
            except (ValueError, IndexError, ZeroDivisionError):
                found, errors = (), errors + 1
            found = found if isinstance(found, tuple) else (found,)
            references = [weakref.ref(one) for one in (*given, *found)]
            del given, found
            assert turn == 0 or [one() for one in references] == [None] * len(references)
    finally:
        gc.enable()
    assert errors == 4 * (name.startswith(("out of", "out that overlaps", "other", "wrong", "an error")))


def test_a_view_of_what_can_only_be_copied_is_refused(x):
    for array in ([1.0, 2.0], x.astype(">f4"), x[0, 0]):
        with ep.lazy() as lazy, pytest.raises(TypeError, match=r"^array \(\w+\) can only be read as a copy"):
            lazy.view(array)


class Elsewhere:
    """An array of a device that does not exist."""

    shape, dtype = (4, 4), np.dtype(np.float32)

    def __dlpack_device__(self):
        return 99, 0

    def __dlpack__(self, **_):
        raise BufferError("not in memory of the host")


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (np.ma.masked_array, TypeError, "^gate has a mask"),
        (lambda x: x.astype(object), TypeError, "^gate has dtype object"),
        (lambda x: x[:3], ValueError, r"\(3, 4\).* do not broadcast at axis"),
        (lambda x: {1}, TypeError, "^gate is of set, which cannot be hashed"),
        (lambda x: Elsewhere(), TypeError, r"^gate \(Elsewhere\) cannot be read"),
        (lambda x: [x, x.astype(object)], TypeError, r"^gate\[1\] has dtype object"),
    ],
)
def test_bad_arguments_are_named_before_anything_is_written(make, error, words, x):
    fused = ep.fuse(lambda x, gate: x * gate)
    for out in (None, np.zeros_like(x)):
        with pytest.raises(error, match=words):
            fused(x, make(x), out=out)
        with pytest.raises(error, match=words):
            fused(x, gate=make(x), out=out)
        assert out is None or not out.any()


OtherArrays = type("OtherArrays", (Arrays,), dict.fromkeys(Arrays.__abstractmethods__) | {"place": "the other device"})


class OnOtherDevice(Placed):
    shape, dtype, operands = (4, 4), np.dtype(np.float32), OtherArrays()


def test_operands_on_two_devices(x):
    out = np.zeros_like(x)
    with pytest.raises(TypeError, match=r"^gate \(OnOtherDevice\) is on the other device, x is on the host"):
        ep.fuse(lambda x, gate: x * gate)(x, OnOtherDevice(), out=out)
    assert not out.any()
    with ep.lazy() as lazy:
        lazy.view(x)
        with pytest.raises(TypeError, match=r"^array is on the other device, the views before are on the host"):
            lazy.view(OnOtherDevice())


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda x: x[:3], r"^out\[1\] has shape \(3, 4\)"),
        (lambda x: np.zeros(x.shape), r"^out\[1\] has dtype float64"),
        (lambda x: np.broadcast_to(x[0], x.shape), r"^out\[1\] is read-only"),
        (lambda x: x[::-1], r"^out\[1\] overlaps an array that is read"),
        (lambda x: [1.0], r"^out\[1\] must be a numpy.ndarray, not list"),
    ],
)
def test_bad_outputs_are_named_before_anything_is_written(bad, words, x):
    fused, first, before = ep.fuse(lambda x: (x + 1.0, x * 2.0)), np.zeros_like(x), x.copy()
    with pytest.raises((TypeError, ValueError), match=words):
        fused(x, out=(first, bad(x)))
    assert not first.any()
    assert np.array_equal(x, before)


def test_a_read_only_view_is_named(x):
    x.flags.writeable = False

    def assign():
        with ep.lazy() as lazy:
            view = lazy.view(x)
            view[...] = view * 2.0

    with pytest.raises(ValueError, match=r"^view 0 is read-only"):
        assign()


def test_a_long_chain(x):
    """Five thousand values, in kernels that all have one structure, except for the last kernel."""

    def chain(x, half):
        y = x
        for _ in range(2500):
            y = y * half + x
        return y

    assert np.array_equal(ep.fuse(chain)(x, 0.5), chain(x, np.float32(0.5)))


@pytest.mark.parametrize("convert", [lambda x: x.astype(">f4"), lambda x: x.T.copy().T, lambda x: x[::2], np.asarray])
def test_arrays_that_are_converted_or_strided_are_read_anew_at_each_call(convert, x):
    fused = ep.fuse(lambda x, y: x * y - x)
    for factor in (1, 2, 3):
        given = convert(x * np.float32(factor))
        expected = given.astype(np.float32)
        assert np.array_equal(fused(given, given), expected * expected - expected)
