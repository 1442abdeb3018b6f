"""Reduce kernels: maps before a reduction of any axes, or of long rows, computed as it reads them."""

import numpy as np
import pytest

import ep
from tests.fuse.test_rows import check

ops = ep.ops
SHAPES = [(5, 7), (37, 37), (300, 1000), (3, 50_000), (40, 2, 501), (100_000,), (2000, 33)]


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "any"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.complex64])
def test_the_bits_of_the_operators_one_by_one(name, dtype, rng, one_by_one):
    if name == "max" and dtype == np.complex64:
        return
    for shape in SHAPES:
        x, y = ((rng.normal(size=shape) * 9).astype(dtype) for _ in range(2))
        for axis in (None, 0, tuple(range(0, len(shape), 2)), -1):
            keepdims = bool(rng.integers(2))

            def reduced(x, y, axis=axis, keepdims=keepdims):
                return getattr(ops, name)(x * y - x, axis=axis, keepdims=keepdims)

            fused = ep.fuse(reduced)
            converts = "cast " if dtype is np.int32 and name in ("sum", "mean", "prod") else ""
            assert f"kernel of mul sub {converts}{name};" in fused.explain(x, y)
            check(fused(x, y), one_by_one(reduced, x, y))


@pytest.mark.parametrize("threads", [1, 2])
def test_any_number_of_threads(threads, rng, one_by_one):
    x, y = rng.random((2, 700, 900), np.float32)
    device = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU, 0)
    before = device.GetNumThreads()
    device.SetNumThreads(threads)
    try:
        for axis in (None, 0):
            total = lambda x, y, axis=axis: ops.sum(ops.square(x - y), axis)  # noqa: E731
            check(ep.fuse(total)(x, y), one_by_one(total, x, y))
    finally:
        device.SetNumThreads(before)


def test_what_is_read_elsewhere_is_computed_before(rng, one_by_one):
    def both(x):
        square = x * x
        return square, ops.sum(square, 0)

    x = rng.random((30, 40))
    fused = ep.fuse(both)
    assert "operator of sum" in fused.explain(x)
    check(fused(x), one_by_one(both, x))


def test_maps_of_what_is_reduced(rng, one_by_one):
    """The kernel of a reduction computes the maps of its results, whether it has maps before it or not."""

    def scaled(x, w, axis, keepdims, power):
        total = ops.mean(ops.pow(x, 2) if power else x, axis, keepdims=keepdims)
        return ops.rsqrt(total + 1e-5) * w, total

    for shape, axis in (((5, 7), 0), ((40, 2, 51), 1), ((6, 5, 4), (0, 2)), ((3, 9000), 1), ((30, 41), None)):
        x = rng.random(shape)
        for keepdims in (False, True):
            of = np.mean(x, axis, keepdims=keepdims).shape
            for w in (rng.random(of), rng.random(of[-1:]), rng.random((*of[:-1], 1)) if of else 2.0):
                for power in (False, True):
                    one = lambda x, w, given=(axis, keepdims, power): scaled(x, w, *given)  # noqa: E731
                    fused = ep.fuse(one)
                    assert fused.explain(x, w).count("kernel of") == 1, fused.explain(x, w)
                    check(fused(x, w), one_by_one(one, x, w))


def test_two_reductions_and_what_is_made_of_both(rng, one_by_one):
    def variance(x):
        return ops.mean(x * x, 0) - ops.square(ops.mean(x, 0))

    def scores(x, y):
        return ops.sum(x, 0) / (ops.sum(y, 0) + ops.sum(x * y, 0) * ops.mean(y))

    x, y = rng.random((2, 30, 40))
    assert "operator" not in ep.fuse(variance).explain(x)
    check(ep.fuse(variance)(x), one_by_one(variance, x))
    check(ep.fuse(scores)(x, y), one_by_one(scores, x, y))


def test_a_reduction_of_a_strided_array_and_outputs_that_are_inputs(rng, one_by_one):
    x, v = rng.random((60, 80), np.float32)[::2, ::-3], rng.random(27, np.float32)
    total = lambda x, v: ops.sum(x, 0) * v + v  # noqa: E731
    expected, out = one_by_one(total, x, v), v.copy()
    assert ep.fuse(total)(x, out, out=out) is out
    check(out, expected)
