"""ep.ops.argmax, argmin, argsort, argtopk, sort and topk, compared with NumPy."""

import numpy as np
import pytest

import ep
from ep import ops
from ep.include.primitive import ArgSortFactory
from ep.testing.keys import needs_one_of

DTYPES = ("bool", "int8", "uint16", "int64", "uint64", "float16", "float32", "float64")
SHAPES = [((7,), 0), ((1,), -1), ((3, 5, 4), 0), ((3, 5, 4), 1), ((3, 5, 4), -1), ((2, 130, 1), 1), ((1, 3), -2)]


def drawn(rng, dtype, shape):
    """Return elements of which some are equal; of floating types, some are NaN."""
    x = (rng.integers(-9, 9, shape) * 1.5).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[rng.random(shape) < 0.1] = np.nan
    return x


def places(x, axis, descending):
    """Return the places of a stable order, in which NaN is the largest."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_extremes(rng, name, dtype):
    for shape, axis in SHAPES:
        x = drawn(rng, dtype, shape)
        for along in (axis, None):
            for keepdims in (False, True):
                got = getattr(ops, name)(x, along, keepdims)
                want = getattr(np, name)(x, axis=along, keepdims=keepdims)
                assert (got.dtype, got.shape) == (np.int64, want.shape)
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_orders(rng, dtype, descending):
    for shape, axis in SHAPES:
        x = drawn(rng, dtype, shape)
        want = places(x, axis, descending)
        np.testing.assert_array_equal(ops.argsort(x, axis, descending), want)
        np.testing.assert_array_equal(ops.sort(x, axis, descending), np.take_along_axis(x, want, axis))
        for k in {0, 1, x.shape[axis] // 2, x.shape[axis]}:
            values, found = ops.topk(x, k, axis, largest=descending)
            some = np.take(want, np.arange(k), axis)
            np.testing.assert_array_equal(found, some)
            np.testing.assert_array_equal(values, np.take_along_axis(x, some, axis))
            assert (values.dtype, found.dtype) == (x.dtype, np.int64)
            np.testing.assert_array_equal(ops.argtopk(x, k, axis, descending), some)


def test_zeros_keep_their_signs_and_nan_their_bits():
    x = np.array([0.0, -0.0, np.nan, -1, -0.0, -np.nan, 0])
    found = ops.sort(x)
    assert found[1:5].tolist() == [0] * 4
    assert np.signbit(found).tolist() == [True, False, True, True, False, False, True]


def test_bfloat16(rng):
    x = ops.cast(rng.normal(size=(5, 40)), "bfloat16")
    want = np.argsort(x.astype(np.float64), -1, kind="stable")
    np.testing.assert_array_equal(ops.argsort(x), want)
    np.testing.assert_array_equal(ops.argmin(x, 1), want[:, 0])


def test_no_axes_and_no_elements():
    assert ops.argmax(5.0) == 0
    assert ops.argmin(np.array(True), keepdims=True).shape == ()
    for name in ("argmax", "argmin"):
        function = getattr(ops, name)
        with pytest.raises(ValueError, match=r"x of shape \(2, 0\) has no elements along axis 1"):
            function(np.zeros((2, 0)), 1)
        with pytest.raises(ValueError, match=r"x of shape \(2, 0\) has no elements$"):
            function(np.zeros((2, 0)))
        assert function(np.zeros((2, 0)), 0).shape == (0,)
        assert function(np.zeros((0, 2, 0)), 2, True).shape == (0, 2, 1)
    for shape, axis in (((0,), 0), ((2, 0), 1), ((2, 0), 0)):
        assert ops.sort(np.zeros(shape), axis).shape == shape
        values, found = ops.topk(np.zeros(shape), 0, axis)
        assert values.shape == found.shape == (*shape[:axis], 0, *shape[axis + 1 :])


def test_wrong_arguments():
    x = np.zeros((2, 3))
    for name in ("argsort", "sort"):
        with pytest.raises(ValueError, match="x has no axes; one is needed"):
            getattr(ops, name)(1.0)
        with pytest.raises(np.exceptions.AxisError, match="axis is 2; it must be -2"):
            getattr(ops, name)(x, 2)
        for flag in ("descending", "stable"):
            with pytest.raises(TypeError, match=f"{flag} must be True or False, not 1"):
                getattr(ops, name)(x, **{flag: 1})
        with pytest.raises(ep.UnsupportedPrimitiveError, match="x has dtype complex128"):
            getattr(ops, name)(x * 1j)
    with pytest.raises(ValueError, match=r"k is 4; x of shape \(2, 3\) has 3 elements along axis 1"):
        ops.topk(x, 4)
    with pytest.raises(ValueError, match="k is -1"):
        ops.topk(x, -1)
    with pytest.raises(TypeError, match="k must be an integer"):
        ops.argtopk(x, 1.0)
    for flag in ("largest", "sorted"):
        with pytest.raises(TypeError, match=f"{flag} must be True or False, not 1"):
            ops.topk(x, 1, **{flag: 1})
    with pytest.raises(TypeError, match="keepdims must be True or False"):
        ops.argmax(x, 0, 1)
    with pytest.raises(TypeError, match="out"):
        ops.argmax(x, 0, out=np.zeros(3))


def test_views_and_out(rng):
    x = rng.random((6, 8))
    for view in (x[::2, ::-1], x.T):
        np.testing.assert_array_equal(ops.argmax(view, 0), np.argmax(view, 0))
        np.testing.assert_array_equal(ops.sort(view, 1), np.sort(view, 1))
    out = np.empty((6, 8), np.int64)
    assert ops.argsort(x, out=out) is out
    np.testing.assert_array_equal(out, np.argsort(x, 1))


@needs_one_of(ArgSortFactory)
@pytest.mark.parametrize(
    ("name", "given", "want"),
    [
        ("argmax", (1,), lambda x: np.argmax(x, 1)),
        ("argmin", (0, True), lambda x: np.argmin(x, 0, keepdims=True)),
        ("argsort", (1, True), lambda x: places(x, 1, descending=True)),
        ("sort", (0,), lambda x: np.sort(x, 0)),
        ("argtopk", (3, 0), lambda x: places(x, 0, descending=True)[:3]),
    ],
)
def test_on_the_device(name, given, want, operate, rng):
    x = drawn(rng, "float32", (7, 12))
    np.testing.assert_array_equal(operate(name, x, *given), want(x))


def test_fused(rng):
    x = rng.random((5, 31)).astype(np.float32)
    fused = ep.fuse(lambda x: (*ops.topk(x * -2, 3), ops.argmax(x, 0)))
    for _ in range(3):
        values, found, most = fused(x)
        np.testing.assert_array_equal(values, -2 * np.sort(x, -1)[:, :3])
        np.testing.assert_array_equal(found, np.argsort(x, -1)[:, :3])
        np.testing.assert_array_equal(most, np.argmax(x, 0))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.argmax(x, 1, keepdims=True),
        lambda x: np.argmin(x),
        lambda x: np.sort(x, 0),
        lambda x: np.argsort(x, axis=-1),
        lambda x: np.cumulative_sum(x, axis=1, include_initial=True),
        lambda x: np.cumsum(x, 1, dtype=np.float64),
        lambda x: np.cumprod(a=x, axis=0),
    ],
)
def test_functions_of_numpy(function, rng):
    x = rng.random((4, 5)).astype(np.float32)
    found, want = ep.fuse(function)(x), function(x)
    assert found.dtype == want.dtype
    np.testing.assert_allclose(found, want, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_gradients(axis, rng):
    """Each element has the gradient of the place that it was sorted to; others have none."""
    x, weights = rng.permutation(30).reshape(5, 6) / 7, rng.normal(size=(5, 6))
    slope = ep.grad(lambda x, w: ops.sum(ops.sort(x, axis) * w))(x, weights)
    np.testing.assert_array_equal(slope, np.take_along_axis(weights, np.argsort(np.argsort(x, axis), axis), axis))
    slope = ep.grad(lambda x: ops.sum(ops.topk(x, 2, axis)[0]))(x)
    np.testing.assert_array_equal(slope, x >= np.flip(np.sort(x, axis), axis).take([1], axis))
