"""Fused functions that are called again with arrays of the same shapes: bits, errors, references, threads, frames."""

import gc
import weakref

import numpy as np
import pytest

import ep
from ep import ops
from ep.ops.declare.operator import operator_named
from ep.ops.kernels import Kernel, registry
from tests.fuse.placing import placed
from tests.profiles import calls_of
from tests.threads import run_together


def norm(x, weight, bias):
    """Return a layer norm along the last axis."""
    centred = x - ops.mean(x, -1, keepdims=True)
    return centred / ops.sqrt(ops.mean(centred * centred, -1, keepdims=True) + 1e-5) * weight + bias


def steps(x, table, at, rate):
    """Return values of a map, of a gather, of a sort that no kernel joins, and of a product."""
    rows = ops.gather(table, at, mode="wrap_negative")
    return ops.tanh(x * rate), ops.sort(rows + x), ops.matmul(ops.permute(x, (1, 0)), rows)


def given(rng, device=None):
    """Return arrays, of the host if there is no device."""
    x, table = rng.standard_normal((5, 13), np.float32), rng.standard_normal((7, 13), np.float32)
    arrays = x, table, rng.integers(0, 7, 5)
    return [one if device is None else placed(device, one) for one in arrays]


def on_host(values):
    return [ops.copy_to_host(one) for one in values]


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_each_call_has_the_bits_of_a_first_one(device, rng):
    fused, kept = ep.fuse(steps), []
    for rate in (0.5, 0.5, -3.0, np.float32(2), 7.25):
        arguments = *given(rng, device), rate
        kept.append((fused(*arguments), on_host(ep.fuse(steps)(*arguments))))
    for found, expected in kept:  # later calls have not changed them
        assert_same(on_host(found), expected)


def test_indices_are_checked_in_each_call(device, rng):
    fused = ep.fuse(steps)
    x, table, at = given(rng, device)
    wrong, negative = (placed(device, np.array([0, 1, 2, 3, last])) for last in (7, -1))
    for _ in range(12):
        assert_same(on_host(fused(x, table, negative, 2.0)), on_host(ep.fuse(steps)(x, table, negative, 2.0)))
    for _ in range(12):
        fused(x, table, at, 2.0)
        with pytest.raises(IndexError, match=r"indices(\.flat)?\[4\] is 7; the axis holds -7 \.\.\. 6"):
            on_host(fused(x, table, wrong, 2.0))
    assert_same(on_host(fused(x, table, at, 2.0)), on_host(ep.fuse(steps)(x, table, at, 2.0)))


def test_arguments_and_results_are_not_kept(rng):
    fused, seen = ep.fuse(lambda x, y: (x * y, ops.matmul(x, ops.tanh(y)))), []
    for _ in range(3):
        arguments = [rng.standard_normal((5, 5), np.float32) for _ in range(2)]
        seen += map(weakref.ref, (*arguments, *fused(*arguments)))
    del arguments
    gc.collect()
    assert not any(one() is not None for one in seen)


def test_threads_call_at_once(rng):
    fused = ep.fuse(steps)
    arguments = [(*given(rng), float(k)) for k in range(4)]
    expected, found = [ep.fuse(steps)(*one) for one in arguments], [[] for _ in arguments]

    def work(k):
        for _ in range(50):
            found[k].append(fused(*arguments[k]))

    run_together(work, [(k,) for k in range(4)])
    for each, wanted in zip(found, expected, strict=True):
        for one in each:
            assert_same(one, wanted)


def test_a_kernel_that_is_registered_meanwhile(monkeypatch, rng):
    fused, x = ep.fuse(lambda x: ops.argsort(ops.tanh(x))), rng.standard_normal((5, 7), np.float32)
    for _ in range(3):
        expected = fused(x)
    monkeypatch.setattr(registry, "_KERNELS", {name: [*some] for name, some in registry._KERNELS.items()})

    class Threes(Kernel):
        def compute(self, call):
            call.outputs[0][...] = 3

    registry.register_kernel("argsort", priority=1000)(Threes)
    for _ in range(3):
        np.testing.assert_array_equal(fused(x), np.full((5, 7), 3))
    monkeypatch.undo()
    operator_named("argsort").forget()
    for _ in range(3):
        np.testing.assert_array_equal(fused(x), expected)


def test_large_intermediate_values_are_not_all_in_memory_at_once(rng):
    """The memory of a value is free as soon as nothing reads it any more."""
    fused = ep.fuse(lambda x: ops.sort(ops.sort(ops.sort(ops.sort(x) * 2) * 3) * 5))
    x = rng.standard_normal((3, 2**18), np.float32)
    expected = np.sort(x, -1) * np.float32(2) * np.float32(3) * np.float32(5)
    for _ in range(3):
        np.testing.assert_array_equal(fused(x), expected)


def test_a_repeated_call_passes_few_frames(rng):
    x, weight, bias = (rng.standard_normal(shape, np.float32) for shape in ((5, 13), (13,), (13,)))
    fused, scaled = ep.fuse(norm), ep.fuse(lambda x, rate: ops.tanh(x) * rate)
    for _ in range(3):
        expected, *_ = fused(x, weight, bias), scaled(x, 2.0), scaled(x, 3.0)
    assert calls_of(lambda: fused(x, weight, bias)) <= 1 + 5
    assert calls_of(lambda: scaled(x, 3.0)) <= 1 + 7
    np.testing.assert_array_equal(fused(x, weight, bias), expected)


@pytest.mark.parametrize("size", [13, 2**17])
def test_results_in_given_arrays(rng, size):
    x, y = (rng.standard_normal((5, size), np.float32) for _ in range(2))
    fused = ep.fuse(lambda x, y: (ops.tanh(x) * y, ops.sort(x + y)))
    expected = ep.fuse(lambda x, y: (ops.tanh(x) * y, ops.sort(x + y)))(x, y)
    for _ in range(5):
        out = np.empty_like(x), np.empty_like(x)
        found = fused(x, y, out=out)
        assert all(one is other for one, other in zip(found, out, strict=True))
        assert_same(found, expected)
        wide = np.zeros((5, 2 * size), np.float32)
        assert_same(fused(x, y, out=(wide[:, ::2], None)), expected)
        assert not wide[:, 1::2].any()
        own, shared = x.copy(), np.empty(6 * size, np.float32)
        assert_same(fused(own, y, out=(own, None)), expected)
        with pytest.raises(ValueError, match=r"out\[1\] overlaps out\[0\]"):
            fused(x, y, out=(shared[: 5 * size].reshape(5, size), shared[size:].reshape(5, size)))
        with pytest.raises(TypeError, match=r"out\[1\] has dtype float64"):
            fused(x, y, out=(None, np.empty((5, size))))
        assert_same(fused(x, y), expected)


def test_a_repeated_call_with_given_arrays_passes_few_frames(rng):
    x, out = rng.standard_normal((5, 13), np.float32), np.empty((5, 13), np.float32)
    fused = ep.fuse(lambda x: ops.tanh(x) * 2.0)
    for _ in range(3):
        expected = fused(x).copy()
        fused(x, out=out)
    assert calls_of(lambda: fused(x, out=out)) <= 1 + 6
    np.testing.assert_array_equal(out, expected)
