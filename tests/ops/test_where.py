"""where."""

import numpy as np
import pytest

import ep.ops
from ep.include.primitive import WhereFactory
from ep.testing.keys import needs_one_of

pytestmark = needs_one_of(WhereFactory)


def data(shape, dtype, rng):
    return rng.integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("cond_dtype", [np.bool_, np.int8, np.uint64])
@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.float32, np.complex128])
def test_types(operate, rng, cond_dtype, dtype):
    condition, x, y = rng.integers(0, 2, (3, 5)).astype(cond_dtype), data((3, 5), dtype, rng), data((3, 5), dtype, rng)
    result = operate("where", condition, x, y)
    assert result.dtype == dtype
    assert np.array_equal(result, np.where(condition, x, y))


SHAPES = [
    ((3, 5), (5,), (3, 1)),
    ((5,), (3, 5), ()),
    ((), (3, 1, 5), (7, 1)),
    ((3, 1), (1, 5), (1, 1)),
    ((0, 5), (5,), (1, 1)),
    ((), (), ()),
    ((2, 1, 3, 1, 2, 1, 1, 1, 1), (1, 2, 1, 3, 1, 1, 1, 1, 5), ()),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcasting(operate, rng, shapes):
    condition, x, y = (data(shape, dtype, rng) for shape, dtype in zip(shapes, (np.int32, "f8", "f8"), strict=True))
    condition = np.asarray(condition % 2)
    result, expected = operate("where", condition, x, y), np.where(condition, x, y)
    assert result.shape == expected.shape
    assert np.array_equal(result, expected)


def test_numbers(operate):
    condition, x = np.array([True, False, True]), np.array([1, 2, 3], np.int8)
    for arguments, expected in [((x, -1), [1, -1, 3]), ((7, x), [7, 2, 7]), ((x, True), [1, 1, 3])]:
        result = operate("where", condition, *arguments)
        assert (result.dtype, result.tolist()) == (np.int8, expected)
    assert operate("where", condition, 1.5, 2).tolist() == [1.5, 2, 1.5]
    with pytest.raises(ValueError, match="y is 300, which int8 does not hold"):
        operate("where", condition, x, 300)


def test_nan_is_moved_as_it_is(operate):
    x = np.array([np.nan, 1], np.float32)
    x.view(np.uint32)[0] ^= 5  # a NaN with another payload
    result = operate("where", np.array([1, 0], np.uint8), x, np.zeros(2, np.float32))
    assert result.view(np.uint32).tolist() == [x.view(np.uint32)[0], 0]


def test_out():
    condition, x, y = np.array([[1], [0]], np.int8), np.arange(3.0), np.zeros((2, 3))
    assert ep.ops.where(condition, x, y, out=y) is y
    assert y.tolist() == [[0, 1, 2], [0, 0, 0]]
    wide = np.zeros((2, 6))
    ep.ops.where(condition, x, y, out=wide[:, ::2])
    assert wide.tolist() == [[0, 0, 1, 0, 2, 0], [0] * 6]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (([1.0], [1], [2]), TypeError, "condition has dtype float64; it must be bool or an integer type"),
        (([1], [1], [2.0]), TypeError, "x has dtype int64, y has float64; convert one of them"),
        (([1], [1, 2], [1, 2, 3]), ValueError, r"^x \(2,\), y \(3,\) do not broadcast at axis -1$"),
        (([1, 0], [1, 2, 3], [1]), ValueError, r"^condition \(2,\), x and y \(3,\) do not broadcast at axis -1$"),
    ],
)
def test_refusals(arguments, kind, message):
    with pytest.raises(kind, match=message):
        ep.ops.where(*arguments)
    x = np.zeros(4)
    with pytest.raises(ValueError, match="out overlaps x"):
        ep.ops.where([True, False], x[:2], 0.0, out=x[1:3])
