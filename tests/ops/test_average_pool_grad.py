"""average_pool by a divisor, its gradient, and adaptive pools, compared with loops over windows and with PyTorch."""

import math

import numpy as np
import pytest
from ml_dtypes import bfloat16

import ep
import ep.ops
from ep.include.primitive import ReduceFactory
from ep.testing.keys import needs_one_of
from tests.ops import window_references
from tests.ops.test_pool import TOLERANCE, drawn, near

pytestmark = needs_one_of(ReduceFactory)


def gradient(dy, sizes, kernel, strides, pads, dilations, ceil_mode=False, count_include_pad=False, divisor=None):
    """Return the sums of shares in float64."""
    counts, num_axes = dy.shape[2:], len(sizes)
    result = np.zeros((*dy.shape[:2], *sizes))
    for window, places in window_references.each_window(sizes, counts, kernel, strides, pads, dilations):
        number = 0
        for _, at, is_there in places:
            padded = (-pads[axis] <= one < sizes[axis] + pads[axis + num_axes] for axis, one in enumerate(at))
            number += is_there or (count_include_pad and all(padded))
        for _, at, is_there in places:
            if is_there:
                result[(..., *at)] += dy[(..., *window)].astype(np.float64) / (divisor or number)
    return result


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda one: np.dtype(one).name)
def test_the_gradient_against_the_definition(operate, dtype, rng):
    for place, num_axes in enumerate((1, 2, 3, 1, 2, 2)):
        sizes, given = drawn(rng, num_axes)
        counts = window_references.counts_of(sizes, **given)
        given |= {"count_include_pad": place % 2 == 0, "divisor": (None, None, -3)[place % 3]}
        dy = rng.normal(size=(2, 3, *counts)).astype(dtype)
        expected = gradient(dy, sizes, **given)
        near(operate("average_pool_grad", dy, (2, 3, *sizes), **given), expected, dtype)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda one: np.dtype(one).name)
def test_a_divisor(operate, dtype, rng):
    for num_axes in (1, 2, 3):
        sizes, given = drawn(rng, num_axes)
        x = rng.integers(-3, 4, (2, 3, *sizes)).astype(dtype)
        means = window_references.average_pool(x, **{**given, "pads": given["pads"]}, count_include_pad=False)
        ones = window_references.average_pool(np.ones_like(x), **given)
        counts = np.zeros_like(means)
        for window, places in window_references.each_window(
            sizes, means.shape[2:], *(given[name] for name in ("kernel", "strides", "pads", "dilations"))
        ):
            counts[(..., *window)] = sum(is_there for _, _, is_there in places)
        expected = np.where(np.isnan(ones), 0, means * counts) / 7
        near(operate("average_pool", x, **given, divisor=7), expected, dtype)


@pytest.mark.parametrize(
    ("sizes", "given"),
    [
        ((7, 7), {"kernel": 7}),
        ((6, 9), {"kernel": (2, 3), "strides": (2, 3)}),
        ((21, 67), {"kernel": 3, "strides": 2, "pads": 1}),
        ((50,), {"kernel": 19, "strides": 3, "pads": 9}),
        ((5, 6), {"kernel": 1, "strides": 2}),
        ((9,), {"kernel": 2, "strides": 4}),
        ((2,), {"kernel": 3}),
        ((0,), {"kernel": 2, "pads": 2, "count_include_pad": True}),
        ((3, 4, 5), {"kernel": (3, 2, 4), "pads": (1, 0, 2, 1, 1, 0), "dilations": (1, 2, 1)}),
    ],
    ids=str,
)
def test_shapes_that_are_odd(operate, sizes, given, rng):
    lengths = {"kernel": 1, "strides": 1, "pads": 2, "dilations": 1}
    alone = {"strides": 1, "pads": 0, "dilations": 1, **given}
    full = {
        name: (value,) * (lengths[name] * len(sizes)) if name in lengths and isinstance(value, int) else value
        for name, value in alone.items()
    }
    windows = {name: full[name] for name in lengths}
    counts = window_references.counts_of(sizes, **windows)
    for planes in ((2, 3), (0, 3)):
        dy = rng.normal(size=(*planes, *counts)).astype(np.float32)
        found = operate("average_pool_grad", dy, (*planes, *sizes), **given)
        near(found, gradient(dy, sizes, **full), np.float32)


def test_the_gradient_of_numbers_that_are_not_finite(operate):
    dy = np.array([[[np.inf, 1, np.nan]]], np.float32)
    found = operate("average_pool_grad", dy, (1, 1, 7), 3, 2)
    np.testing.assert_array_equal(found, np.float32([[[np.inf, np.inf, np.inf, 1 / 3, np.nan, np.nan, np.nan]]]))


@pytest.mark.parametrize("num_axes", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_adaptive_pools_beside_pytorch(num_axes, dtype, rng):
    torch = pytest.importorskip("torch")
    for trial in range(6):
        sizes, counts = (tuple(map(int, rng.integers(1, 10, num_axes))) for _ in range(2))
        counts = (1,) * num_axes if trial == 4 else sizes if trial == 5 else counts
        there = torch.tensor(rng.normal(size=(2, 3, *sizes)).astype(dtype), requires_grad=True)
        means = getattr(torch.nn.functional, f"adaptive_avg_pool{num_axes}d")(there, counts)
        near(ep.ops.adaptive_average_pool(there.detach().numpy(), counts), means.detach().numpy(), dtype)
        dy = rng.normal(size=means.shape).astype(dtype)
        means.backward(torch.tensor(dy))
        near(ep.ops.adaptive_average_pool_grad(dy, there.shape), there.grad.numpy(), dtype)


@pytest.mark.parametrize("dtype", [np.float32, bfloat16], ids=lambda one: np.dtype(one).name)
@pytest.mark.parametrize(("sizes", "counts"), [((7, 5), (3, 8)), ((6, 4), (3, 2)), ((3, 4), (1, 1)), ((4,), (0,))])
def test_adaptive_pools_against_the_definition(operate, sizes, counts, dtype, rng):
    x, dy = rng.normal(size=(2, 3, *sizes)).astype(dtype), rng.normal(size=(2, 3, *counts)).astype(dtype)
    x.reshape(-1)[0] = np.nan
    means, shares = np.zeros(dy.shape), np.zeros(x.shape)
    for window in np.ndindex(*counts):
        each = [*zip(window, sizes, counts, strict=True)]
        part = (..., *(slice(at * size // count, math.ceil((at + 1) * size / count)) for at, size, count in each))
        axes = tuple(range(2, x.ndim))
        means[(..., *window)] = x[part].astype(np.float64).mean(axes)
        shares[part] += np.expand_dims(dy[(..., *window)].astype(np.float64) / x[part][0, 0].size, axes)
    near(operate("adaptive_average_pool", x, counts), means, dtype)
    near(operate("adaptive_average_pool_grad", dy, x.shape), shares, dtype)


def test_fused_with_what_is_around_it(rng):
    x = rng.normal(size=(2, 3, 9, 8)).astype(np.float32)

    @ep.fuse
    def both(x):
        y = ep.ops.average_pool(x, 3, 2, 1, divisor=4)
        return ep.ops.average_pool_grad(y * 2, (2, 3, 9, 8), 3, 2, 1), ep.ops.adaptive_average_pool(x, (4, 5))

    y = ep.ops.average_pool(x, 3, 2, 1, divisor=4)
    for _ in range(3):
        found = both(x)
        near(found[0], ep.ops.average_pool_grad(y * 2, x.shape, 3, 2, 1), np.float32)
        near(found[1], ep.ops.adaptive_average_pool(x, (4, 5)), np.float32)


DY = np.ones((2, 4, 7), np.float32)


@pytest.mark.parametrize(
    ("dy", "shape", "given", "error", "message"),
    [
        (DY, (2, 4, 10), {}, ValueError, r"dy has shape \(2, 4, 7\); the result of average_pool has \(2, 4, 8\)"),
        (DY, (2, 5, 9), {}, ValueError, r"dy has shape \(2, 4, 7\); the result of average_pool has \(2, 5, 7\)"),
        (DY, (2, 9), {}, ValueError, r"x has shape \(2, 9\); it must have a batch axis"),
        (DY, (2, 4, 9), {"divisor": 0}, ValueError, "divisor is 0; it must be another number than 0"),
        (DY, (2, 4, 9), {"divisor": 1.5}, TypeError, "divisor"),
        (DY, (2, 4, 9), {"pads": -1}, ValueError, r"pads\[0\] is -1"),
        (DY.astype(np.int32), (2, 4, 9), {}, ep.UnsupportedPrimitiveError, "dy has dtype int32"),
    ],
)
def test_wrong_arguments(dy, shape, given, error, message):
    out = np.full((2, 4, 9), 7, np.float32)
    with pytest.raises(error, match=message):
        ep.ops.average_pool_grad(dy, shape, **{"kernel": 3, **given}, out=out)
    assert (out == 7).all()


def test_wrong_arguments_of_adaptive_pools():
    with pytest.raises(ValueError, match="sizes has 2 values; it must be one integer, or 1 of them"):
        ep.ops.adaptive_average_pool(DY, (2, 2))
    with pytest.raises(ValueError, match=r"sizes\[0\] is 3; axis 2 of x of shape \(2, 4, 0\) has no elements"):
        ep.ops.adaptive_average_pool(DY[..., :0], 3)
    with pytest.raises(ep.UnsupportedPrimitiveError, match="x has dtype int32; adaptive_average_pool takes float16"):
        ep.ops.adaptive_average_pool(DY.astype(np.int32), 3)
    with pytest.raises(ValueError, match=r"dy has shape \(2, 4, 7\); it must begin with \(2, 5\)"):
        ep.ops.adaptive_average_pool_grad(DY, (2, 5, 9))
