"""ep.ops.cumulative_sum and cumulative_prod, compared with NumPy."""

import numpy as np
import pytest

import ep
from ep import ops
from ep.include.primitive import ScanFactory
from ep.ops import vjp
from ep.testing.keys import needs_one_of

NAMES = "cumulative_sum", "cumulative_prod"
DTYPES = ("bool", "int8", "uint16", "int64", "uint64", "float16", "float32", "float64", "complex64")


def naive(name, x, axis, include_initial=False, reverse=False):
    """Return the results one by one, in the type of x."""
    x = np.moveaxis(x, axis, 0)
    rows, total = [], np.full(x.shape[1:], name == "cumulative_prod", x.dtype)
    for row in reversed(x) if reverse else x:
        rows.append(total)
        total = total + row if name == "cumulative_sum" else total * row
    rows = [*rows, total] if include_initial else [*rows, total][1:]
    return np.moveaxis(np.array(rows[::-1] if reverse else rows, x.dtype).reshape(-1, *x.shape[1:]), 0, axis)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_as_numpys(rng, name, dtype):
    x = (rng.random((3, 4, 5)) * 3).astype(dtype)
    for axis in (0, 1, -1):
        for given in ({}, {"include_initial": True}, {"reverse": True}, {"include_initial": True, "reverse": True}):
            got = getattr(ops, name)(x, axis, **given)
            kind = np.dtype(dtype).kind
            wide = np.uint64 if kind == "u" else np.int64 if kind in "bi" else x.dtype
            want = naive(name, x.astype(wide), axis, **given)
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            np.testing.assert_allclose(got, want, rtol=4e-3 if dtype == "float16" else 1e-5)
        numpys = getattr(np, name)(x, axis=axis, include_initial=True)
        assert getattr(ops, name)(x, axis, include_initial=True).dtype == numpys.dtype


def test_types_that_are_asked_for(rng):
    x = (rng.random((3, 5)) * 90).astype(np.float32)
    assert ops.cumulative_sum(x, 1, "int8").tolist() == np.cumsum(x.astype(np.int8), 1, np.int8).tolist()
    assert ops.cumulative_prod([2, 3], dtype="float64").tolist() == [2, 6]
    narrow = np.full(4097, 1, np.float16)
    assert ops.cumulative_sum(narrow)[-1] == 4096  # which float16 additions would not reach
    bfloat16 = ops.cast(np.full(1000, 1.0), "bfloat16")
    assert ops.cumulative_sum(bfloat16)[-1] == 1000
    with pytest.raises(TypeError, match="dtype is bool; sums and products are of a type of numbers"):
        ops.cumulative_sum(x, 0, "bool")
    with pytest.raises(ep.UnsupportedPrimitiveError):
        ops.cumulative_sum(np.array([1j]), dtype="float32")


def test_axes_and_arguments():
    x = np.ones((2, 3))
    assert ops.cumulative_sum([1, 2, 3]).tolist() == [1, 3, 6]
    with pytest.raises(ValueError, match=r"axis is None; x of shape \(2, 3\) has 2 axes, so one must be given"):
        ops.cumulative_sum(x)
    with pytest.raises(np.exceptions.AxisError, match="axis is 2; it must be -2"):
        ops.cumulative_prod(x, 2)
    with pytest.raises(ValueError, match="x has no axes"):
        ops.cumulative_sum(1.0)
    for name in ("include_initial", "reverse"):
        with pytest.raises(TypeError, match=f"{name} must be True or False, not 1"):
            ops.cumulative_sum(x, 0, **{name: 1})


@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_scan(name):
    for shape in ((0, 3), (3, 0), (0,)):
        x, first = np.zeros(shape), float(name == "cumulative_prod")
        assert getattr(ops, name)(x, 0).shape == shape
        more = getattr(ops, name)(x, 0, include_initial=True)
        assert more.shape == (shape[0] + 1, *shape[1:])
        assert (more[0] == first).all()


def test_views_and_out(rng):
    x = rng.random((5, 6))
    np.testing.assert_allclose(ops.cumulative_sum(x[::2, ::-1], 1), np.cumsum(x[::2, ::-1], 1))
    np.testing.assert_allclose(ops.cumulative_sum(x.T, 1), np.cumsum(x.T, 1))
    out = np.empty((5, 7))
    assert ops.cumulative_prod(x, 1, include_initial=True, out=out) is out
    np.testing.assert_allclose(out, naive("cumulative_prod", x, 1, include_initial=True))
    want = np.cumsum(x, 0)
    assert ops.cumulative_sum(x, 0, out=x) is x
    np.testing.assert_allclose(x, want)


@needs_one_of(ScanFactory)
@pytest.mark.parametrize("name", NAMES)
def test_on_the_device(name, operate, rng):
    x = rng.random((3, 50, 2)).astype(np.float32)
    for given in ({}, {"include_initial": True, "reverse": True}, {"dtype": "float64"}):
        got = operate(name, x, 1, **given)
        dtype = given.pop("dtype", "float32")
        np.testing.assert_allclose(got, naive(name, x.astype(dtype), 1, **given), rtol=1e-5)


def test_fused(rng):
    x = rng.random((7, 33)).astype(np.float32)
    fused = ep.fuse(lambda x: ops.cumulative_sum(x * 2, -1) + 1)
    for _ in range(3):
        np.testing.assert_allclose(fused(x), np.cumsum(x * 2, -1) + 1, rtol=1e-5)
    slope = ep.grad(lambda x: ops.sum(ops.cumulative_sum(x, 0) * x))(x)
    want = np.cumsum(x, 0) + np.flip(np.cumsum(np.flip(x, 0), 0), 0)
    np.testing.assert_allclose(slope, want, rtol=1e-5)


def test_a_gradient_of_products_with_zeros():
    """Each zero has the product of the others; behind two zeros all are 0."""
    assert vjp("cumulative_prod", ([2.0, 0, 3, 5],), {}, None, np.ones(4))[0].tolist() == [1, 2 + 6 + 30, 0, 0]
    assert vjp("cumulative_prod", ([2.0, 0, 3, 0],), {}, None, np.ones(4))[0].tolist() == [1, 8, 0, 0]
    (slope,) = vjp("cumulative_sum", (np.float32([1, 2]),), {"dtype": "float64"}, None, np.ones(2))
    assert (slope.dtype, slope.tolist()) == (np.float32, [2, 1])
