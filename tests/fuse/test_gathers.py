"""Gathers in kernels: the kernels of the maps of chosen rows read these rows where they are."""

import numpy as np
import pytest

import ep
from ep.include.data_type import DataType
from tests.fuse.test_rows import check

ops = ep.ops
SHAPES = [  # of params and indices, axis and batch_dims
    ((11, 16), (7,), 0, 0),
    ((11, 3, 17), (5, 2), 0, 0),
    ((5, 11, 40), (3,), 1, 0),
    ((5, 11, 40), (5, 3), 1, 1),
    ((5, 2, 9, 20), (5, 3), 2, 1),
    ((4, 21), (), 0, 0),
    ((1, 300), (9,), 0, 0),
]


@pytest.mark.parametrize("name", ["float32", "float64", "int32", "bool", "complex64", "bfloat16"])
@pytest.mark.parametrize("indices_type", [np.int64, np.uint8])
def test_the_bits_of_the_operators_one_by_one(name, indices_type, rng, one_by_one):
    dtype = DataType.kBFloat16.dtype if name == "bfloat16" else np.dtype(name)
    for shape, of_indices, axis, batch in SHAPES:
        x = (rng.normal(size=shape) * 9).astype(dtype)
        indices = rng.integers(0, shape[axis], of_indices).astype(indices_type)

        def chosen(x, y, indices, axis=axis, batch=batch):
            rows = ops.gather(x, indices, axis=axis, batch_dims=batch)
            return ops.where(rows == y, y, rows), rows

        y = (rng.normal(size=x.shape[-1]) * 2).astype(dtype)
        fused = ep.fuse(chosen, round_each=True)
        assert "map kernel of gather equal where" in fused.explain(x, y, indices)
        check(fused(x, y, indices), one_by_one(chosen, x, y, indices, round_each=True))


def embedded(words, tokens, places, w):
    """Return normalised sums of rows: an embedding."""
    x = ops.gather(words, tokens) + places
    d = x - ops.mean(x, -1, keepdims=True)
    return d * ops.rsqrt(ops.mean(d * d, -1, keepdims=True) + 1e-5) * w


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_row_kernels(dtype, rng, one_by_one):
    for columns in (32, 385):
        words, w = rng.normal(size=(50, columns)).astype(dtype), rng.normal(size=columns).astype(dtype)
        for rows in ((60,), (3, 5)):
            tokens, places = rng.integers(0, 50, rows), rng.normal(size=(rows[-1], columns)).astype(dtype)
            fused = ep.fuse(embedded)
            assert fused.explain(words, tokens, places, w).startswith("0: row kernel of gather add mean")
            check(fused(words, tokens, places, w), one_by_one(embedded, words, tokens, places, w))


def test_reductions_of_other_axes_and_long_rows(rng, one_by_one):
    x, indices, y = rng.random((9, 700)), rng.integers(0, 9, 300), rng.random(700)
    for axis in (0, None):
        total = lambda x, indices, y, axis=axis: ops.sum(ops.gather(x, indices) * y, axis)  # noqa: E731
        assert "reduce kernel of gather mul sum" in ep.fuse(total).explain(x, indices, y)
        check(ep.fuse(total)(x, indices, y), one_by_one(total, x, indices, y))


def test_two_choices_of_the_same_rows_with_strides(rng, one_by_one):
    def difference(x, a, b):
        rows = ops.gather(x, a) - ops.gather(x, b)
        return ops.abs(rows), ops.gather(ops.negative(x), a) * rows

    x, (a, b) = rng.random((40, 60), np.float32)[::2, ::-2], rng.integers(0, 20, (2, 33))
    check(ep.fuse(difference)(x, a, b), one_by_one(difference, x, a, b))
    check(ep.fuse(difference)(x, b, a), one_by_one(difference, x, b, a))


@pytest.mark.parametrize("mode", ["raise", "zero", "clip", "wrap_negative"])
def test_indices_out_of_range(mode, rng, one_by_one):
    x, y = rng.random((5, 20)), rng.random(20)
    chosen = lambda x, indices, y: ops.gather(x, indices, mode=mode) * y  # noqa: E731
    fused, out = ep.fuse(chosen), np.zeros((3, 20))
    assert "map kernel of gather mul" in fused.explain(x, np.zeros(3, np.int8), y)
    for values in ([0, 4, 2], [0, -1, 3], [1, 2, 5], [-128, 127, 0]):
        indices = np.array(values, np.int8)
        if values[1] == 4 or mode in ("zero", "clip") or (mode == "wrap_negative" and values[1] == -1):
            check(fused(x, indices, y), one_by_one(chosen, x, indices, y))
            continue
        with pytest.raises(IndexError) as expected:
            one_by_one(chosen, x, indices, y)
        with pytest.raises(IndexError) as found:
            fused(x, indices, y, out=out)
        assert str(found.value) == str(expected.value)
        assert not out.any()


def test_what_is_chosen_from_is_not_overwritten(rng, one_by_one):
    x, indices = rng.random((6, 32)), rng.permutation(6)
    moved = lambda x, indices: ops.gather(x, indices) + 1.0  # noqa: E731
    expected = one_by_one(moved, x, indices)
    assert ep.fuse(moved)(x, indices, out=x) is x
    check(x, expected)


def test_what_is_not_joined(rng, one_by_one):
    x, indices = rng.random((6, 32)), rng.integers(0, 6, 4)
    alone = lambda x, indices: ops.sum(ops.gather(x, indices), 0)  # noqa: E731
    short = lambda x, indices: ops.gather(x, indices, axis=1) * 2.0  # noqa: E731
    assert "operator of gather" in ep.fuse(alone).explain(x, indices)
    assert "its rows have 1 elements" in ep.fuse(short).explain(x, indices)
    for function in (alone, short):
        check(ep.fuse(function)(x, indices), one_by_one(function, x, indices))
