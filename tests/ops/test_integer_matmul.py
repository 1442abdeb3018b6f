"""ep.ops.matmul of integers: sums of products modulo the range of the type, as NumPy's and PyTorch's."""

import numpy as np
import pytest

import ep
import ep.ops
from ep.include import DataType
from ep.include.primitive import MatmulFactory
from ep.testing.keys import needs_one_of

pytestmark = needs_one_of(MatmulFactory, (DataType.kInt32,))

TYPES = [np.dtype(one) for one in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")]


def product(a, b):
    """Return the product by Python's integers, modulo the range."""
    sums, info = np.asarray(np.matmul(a.astype(object), b.astype(object)), object), np.iinfo(a.dtype)
    wrapped = [(int(one) - info.min) % 2**info.bits + info.min for one in sums.reshape(-1)]
    return np.array(wrapped, a.dtype).reshape(sums.shape)


def numbers(rng, shape, dtype):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_against_integers_of_python(operate, dtype, rng):
    shapes = [
        ((3, 5), (5, 7)),
        ((1, 4), (4, 1)),
        ((6, 1), (1, 3)),
        ((5,), (5, 2)),
        ((2, 3), (3,)),
        ((4,), (4,)),
        ((2, 1, 3, 4), (5, 4, 2)),
    ]
    for of_a, of_b in shapes:
        a, b = numbers(rng, of_a, dtype), numbers(rng, of_b, dtype)
        for transposes in ((False, False), (True, False), (False, True), (True, True)):
            given = [
                np.ascontiguousarray(one.swapaxes(-1, -2)) if is_across and one.ndim > 1 else one
                for one, is_across in zip((a, b), transposes, strict=True)
            ]
            flags = [is_across and one.ndim > 1 for one, is_across in zip((a, b), transposes, strict=True)]
            found = operate("matmul", *given, *flags)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, product(a, b))


@pytest.mark.parametrize(
    ("of_a", "of_b"),
    [
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
        ((2, 3), (3, 0)),
        ((0, 2, 3), (3, 2)),
        ((0,), (0,)),
        ((2, 0, 4, 0), (1, 0, 5)),
    ],
)
def test_no_elements(operate, of_a, of_b):
    a, b = np.ones(of_a, np.int32), np.ones(of_b, np.int32)
    found, expected = operate("matmul", a, b), np.matmul(a, b)
    assert (found.dtype, found.shape) == (np.int32, expected.shape)
    np.testing.assert_array_equal(found, expected)


def test_more_columns_than_a_launch_has_and_batches_that_do_not_merge(operate, rng):
    a, b = numbers(rng, (3, 500), np.int8), numbers(rng, (500, 1300), np.int8)
    np.testing.assert_array_equal(operate("matmul", a, b), np.matmul(a, b))
    np.testing.assert_array_equal(operate("matmul", a, np.ascontiguousarray(b.T), False, True), np.matmul(a, b))
    a, b = rng.integers(0, 9, (2, 1, 3, 1, 2, 1, 2, 4)), rng.integers(0, 9, (1, 2, 1, 2, 1, 2, 4, 3))
    np.testing.assert_array_equal(operate("matmul", a, b), np.matmul(a, b))


def test_more_columns_and_matrices_than_a_grid_has_blocks(operate, rng, monkeypatch):
    monkeypatch.setattr("ep.cuda.engine.product.tiles._MOST_BLOCKS", 2)
    a, b = numbers(rng, (5, 3, 19), np.uint16), numbers(rng, (5, 19, 70), np.uint16)
    np.testing.assert_array_equal(operate("matmul", a, b), np.matmul(a, b))


def test_views_and_out(rng):
    a, b = (rng.integers(-9, 9, (8, 6)) for _ in range(2))
    np.testing.assert_array_equal(ep.ops.matmul(a[::2], b.T[:, ::2]), a[::2] @ b.T[:, ::2])
    out = np.zeros((8, 8), np.int64)
    assert ep.ops.matmul(a, b.T, out=out) is out
    np.testing.assert_array_equal(out, a @ b.T)
    a = a[:6].copy()
    before = a.copy()
    with pytest.raises(ValueError, match="out is the memory of x1 and this launch cannot work in place"):
        ep.ops.matmul(a, a.copy(), out=a)
    memory = np.arange(80)
    with pytest.raises(ValueError, match="out overlaps x2"):
        ep.ops.matmul(a.copy(), memory[:36].reshape(6, 6), out=memory[35:71].reshape(6, 6))
    np.testing.assert_array_equal(a, before)


def test_fused_with_what_is_around_it(rng):
    fused = ep.fuse(lambda x, y, z: ep.ops.matmul(x + 1, y, False, True) * 2 - z)
    for _ in range(3):
        x, y, z = (rng.integers(-9, 9, shape).astype(np.int32) for shape in ((5, 6), (7, 6), (7,)))
        np.testing.assert_array_equal(fused(x, y, z), (x + 1) @ y.T * 2 - z)


def test_bool_has_no_product():
    with pytest.raises(ep.UnsupportedPrimitiveError, match="x1 and x2 have dtype bool; matmul takes"):
        ep.ops.matmul(np.ones((2, 2), bool), np.ones((2, 2), bool))
