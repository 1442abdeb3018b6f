"""Gradients where a result that was selected is NaN, or its gradient: NaN for every element it was selected from."""

import itertools

import numpy as np
import pytest

import ep
from ep.include.number_kind import FLOATS
from ep.ops import copy_to_host as host
from ep.ops.gradients import vjp
from tests.fuse.placing import placed

DTYPES = pytest.mark.parametrize("dtype", [one.dtype for one in FLOATS], ids=str)


def numbers(rng, shape, dtype):
    """Return a few small integers, of which many are equal, and NaN."""
    x = rng.integers(-3, 4, shape).astype(np.float64)
    x[rng.random(shape) < 0.1] = np.nan
    return x.astype(dtype)


def shares(elements, dy, largest):
    """Return the gradient of each element of a group of which the largest or least is the result."""
    result = np.max(elements) if largest else np.min(elements)
    if np.isnan(result) or np.isnan(dy):
        return np.full(elements.shape, np.nan)
    return np.where(elements == result, dy / np.sum(elements == result), 0.0)


@pytest.fixture
def check(device):
    """A function that compares the gradients of an operator, alone and in a fused function, with expected ones."""

    def check(name, inputs, attributes, dy, wanted):
        arrays, by = [placed(device, one) for one in inputs], placed(device, dy)

        def loss(*arrays):
            *inputs, by = arrays
            return ep.ops.sum(getattr(ep.ops, name)(*inputs, **attributes) * by, dtype="float64")

        alone = vjp(name, arrays, attributes, None, by)
        together = ep.grad(loss, by=tuple(range(len(inputs))))(*arrays, by)
        rounding = {2: 2e-2, 4: 1e-6, 8: 1e-14}[dy.itemsize]
        for found in (alone, together):
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(host(one).astype(np.float64), other, rtol=rounding)

    return check


@DTYPES
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("name", ["max", "min"])
def test_reductions(name, axes, dtype, rng, check):
    x = numbers(rng, (5, 3, 7), dtype)
    kept = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    dy, wanted = numbers(rng, kept, dtype), np.zeros(x.shape)
    for place in np.ndindex(*kept):
        group = tuple(slice(None) if axis in axes else slice(at, at + 1) for axis, at in enumerate(place))
        wanted[group] = shares(x.astype(np.float64)[group], float(dy[place]), name == "max")
    check(name, [x], {"axis": axes, "keepdims": True}, dy, [wanted])


@DTYPES
@pytest.mark.parametrize("shapes", [((5, 7), (5, 7)), ((7,), (5, 7)), ((5, 1), (1, 7)), ((), (7,))], ids=str)
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_two_operands(name, shapes, dtype, rng, check):
    inputs = [numbers(rng, shape, dtype) for shape in shapes]
    shape = np.broadcast_shapes(*shapes)
    dy, wanted = numbers(rng, shape, dtype), [np.zeros(shape) for _ in inputs]
    pairs = np.stack([np.broadcast_to(one, shape) for one in inputs]).astype(np.float64)
    for place in np.ndindex(*shape):
        found = shares(pairs[(slice(None), *place)], float(dy[place]), name == "maximum")
        for one, share in zip(wanted, found, strict=True):
            one[place] = share
    for k, one in enumerate(inputs):
        before = (1,) * (len(shape) - one.ndim) + one.shape
        axes = tuple(axis for axis, size in enumerate(shape) if before[axis] != size)
        wanted[k] = wanted[k].sum(axes, keepdims=True).reshape(one.shape)
    check(name, inputs, {}, dy, wanted)


@DTYPES
@pytest.mark.parametrize(("kernel", "strides", "pads"), [(2, 2, 0), (3, 2, 1), ((2, 3), 1, 1)], ids=str)
def test_windows(kernel, strides, pads, dtype, rng, check):
    x = numbers(rng, (2, 3, 8, 7), dtype)
    kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
    counts = [(size + 2 * pads - places) // strides + 1 for size, places in zip(x.shape[2:], kernel, strict=True)]
    dy, wanted = numbers(rng, (2, 3, *counts), dtype), np.zeros(x.shape)
    for plane, at in itertools.product(np.ndindex(2, 3), np.ndindex(*counts)):
        begins = [one * strides - pads for one in at]
        window = tuple(slice(max(begin, 0), begin + places) for begin, places in zip(begins, kernel, strict=True))
        group = (*plane, *window)
        wanted[group] += shares(x.astype(np.float64)[group], float(dy[(*plane, *at)]), True)
    check("max_pool", [x], {"kernel": kernel, "strides": strides, "pads": pads}, dy, [wanted])


@DTYPES
def test_powers(dtype, device):
    """The gradients of powers by 0, and of 0, are 0 unless the power is NaN, or its gradient."""
    nan = np.nan
    x, y, dy = (np.array(one, dtype) for one in ([0, 0, 0, 2, 2, nan], [2, nan, 0, 0, 0, 0], [1, 1, nan, 1, nan, 1]))
    of_x, of_y = (
        host(one).astype(np.float64)
        for one in vjp("pow", [placed(device, one) for one in (x, y)], {}, None, placed(device, dy))
    )
    np.testing.assert_array_equal(of_x, [0, nan, nan, 0, nan, 0])
    np.testing.assert_array_equal(of_y[:3], [0, nan, nan])
