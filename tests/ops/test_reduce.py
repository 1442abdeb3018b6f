"""ep.ops.sum, prod, mean, min, max, any, all, softmax, log_softmax and segment_sum, compared with NumPy and SciPy."""

import numpy as np
import pytest
from scipy import special

import ep
from ep import ops

NAMES = ("sum", "prod", "mean", "min", "max", "any", "all")
DTYPES = ("bool", "int8", "uint16", "int64", "uint64", "float16", "float32", "float64", "complex64")


def of(name, dtype, rng):
    if dtype.startswith("complex") and name in ("min", "max"):
        return None
    return (rng.random((3, 4, 5)) * (1.5 if name == "prod" else 5)).astype(dtype)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_as_numpys(rng, name, dtype):
    x = of(name, dtype, rng)
    if x is None:
        return
    for axis in (None, 0, -1, (0, 2), (), (1, -3)):
        for keepdims in (False, True):
            got = getattr(ops, name)(x, axis=axis, keepdims=keepdims)
            want = getattr(np, name)(x, axis=axis, keepdims=keepdims)
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            np.testing.assert_allclose(got, want, rtol=2e-3 if dtype == "float16" else 1e-5)


def test_types_that_are_asked_for(rng):
    x = (rng.random((3, 5)) * 9).astype(np.float32)
    assert ops.sum(x, dtype="float64").dtype == np.float64
    assert ops.sum(x, axis=0, dtype=np.int32).tolist() == x.astype(np.int32).sum(axis=0).tolist()
    assert ops.prod(np.array([200, 2], np.uint8), dtype="uint8") == 144
    assert ops.mean(np.array([1, 2]), dtype="float32").dtype == np.float32
    with pytest.raises(TypeError, match="dtype is int64; a mean is of a floating or complex type"):
        ops.mean(x, dtype="int64")
    with pytest.raises(ep.UnsupportedPrimitiveError):
        ops.sum(np.array([1j]), dtype="float32")


def test_axes(rng):
    x = rng.random((2,) * 10)
    np.testing.assert_allclose(ops.sum(x, axis=(0, 1, 5, 9)), x.sum(axis=(0, 1, 5, 9)))
    with pytest.raises(ValueError, match="needs 10 axes where neighbours of one kind are one; at most 8"):
        ops.sum(x, axis=(0, 2, 4, 6, 8))
    assert ops.sum(np.zeros((0,) + (2,) * 9), axis=(0, 3, 5)).shape == (2,) * 7
    assert ops.sum(5.0) == 5
    with pytest.raises(np.exceptions.AxisError, match="axis is 3; it must be -3"):
        ops.sum(np.ones((2, 3, 4)), axis=3)
    with pytest.raises(np.exceptions.AxisError, match=r"axis\[1\] is -4"):
        ops.sum(np.ones((2, 3, 4)), axis=(0, -4))
    with pytest.raises(ValueError, match=r"axis is \(0, -3\); each axis must be there once"):
        ops.sum(np.ones((2, 3, 4)), axis=(0, -3))
    with pytest.raises(TypeError, match="keepdims must be True or False, not 1"):
        ops.any([1], keepdims=1)


def test_nothing_to_reduce():
    empty = np.zeros((2, 0))
    assert ops.sum(empty, axis=1).tolist() == [0, 0]
    assert ops.prod(empty, axis=1).tolist() == [1, 1]
    assert np.isnan(ops.mean(empty, axis=1)).all()
    assert not ops.any(empty)
    assert ops.all(empty)
    for function in (ops.min, ops.max):
        with pytest.raises(ValueError, match=r"x.shape \(2, 0\) has no elements along axis"):
            function(empty, axis=1)
        assert function(empty, axis=0).shape == (0,)


def test_out(rng):
    x, out = rng.random((3, 4)), np.zeros((3, 1))
    assert ops.max(x, axis=1, keepdims=True, out=out) is out
    np.testing.assert_array_equal(out, x.max(axis=1, keepdims=True))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
def test_softmaxes(rng, dtype, axis):
    x = rng.normal(0, 3, (3, 4, 5)).astype(dtype)
    tolerance = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-14}[dtype]
    wide = x.astype(np.float64)
    for ours, scipys in ((ops.softmax, special.softmax), (ops.log_softmax, special.log_softmax)):
        got = ours(x, axis=axis)
        assert got.dtype == x.dtype
        np.testing.assert_allclose(got, scipys(wide, axis=axis), rtol=tolerance, atol=tolerance / 10)
        in_place = x.copy()
        assert ours(in_place, axis, out=in_place) is in_place
        assert in_place.tobytes() == got.tobytes()


def test_wrong_softmaxes():
    with pytest.raises(ValueError, match="x has no axes"):
        ops.softmax(1.0)
    with pytest.raises(np.exceptions.AxisError, match="axis is 1; it must be -1"):
        ops.softmax(np.ones(3), 1)
    with pytest.raises(ep.UnsupportedPrimitiveError):
        ops.softmax(np.arange(3))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_segment_sum(rng, axis):
    data = rng.random((4, 4, 4))
    ids = np.array([2, 0, 2, 7], np.int16)
    got = ops.segment_sum(data, ids, 3, axis)
    moved = np.moveaxis(data, axis, 0)
    want = np.zeros((3, 4, 4))
    for part, segment in zip(moved, ids, strict=True):
        if segment < 3:
            want[segment] += part
    np.testing.assert_array_equal(got, np.moveaxis(want, 0, axis))


def test_segment_sum_is_the_gradient_of_gather(rng):
    x, indices = rng.random((7, 3)), rng.integers(0, 7, 20)
    dy = rng.random((20, 3))
    assert np.vdot(ops.gather(x, indices), dy) == pytest.approx(np.vdot(x, ops.segment_sum(dy, indices, 7)))


def test_wrong_segment_sums():
    with pytest.raises(ValueError, match=r"segment_ids has shape \(2,\); it must be \(3,\), as data of shape \(3, 4\)"):
        ops.segment_sum(np.ones((3, 4)), [0, 1], 2)
    with pytest.raises(ValueError, match="num_segments is -1; it must not be negative"):
        ops.segment_sum(np.ones(2), [0, 1], -1)
    with pytest.raises(ValueError, match="data has no axes"):
        ops.segment_sum(1.0, [0], 1)
