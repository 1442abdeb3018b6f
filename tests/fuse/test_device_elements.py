"""An element of each row by an index, in row kernels of the device under test: the bits of the operators one by one."""

import numpy as np
import pytest

import ep
from ep.include.data_type import DataType
from ep.include.number_kind import INTEGERS
from ep.include.primitive.structure import kMaxRow
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed
from tests.fuse.test_random_graphs import bits
from tests.fuse.test_rows import layer_norm, mean

ops = ep.ops
LENGTHS = [(300, 3), (7, 37), (3, 300), (2, 2048), (5, 1), (1, 40)]
"""Lengths of rows for one thread, a part of a warp, a warp and a block, and for rows of one element."""


def chosen(rows, indices, mode="raise"):
    """Return the element of each row that an index chooses."""
    return ops.gather(rows, indices, axis=-1, batch_dims=-1, mode=mode)


def chosen_of(rows, indices):
    """Return the element of each row, by an index without an axis of its own."""
    return ops.gather(rows, indices, axis=-1, batch_dims=rows.ndim - 1)


def several(x, y, w, a, b):
    """Two elements of what is computed, beside it, its sums and others that depend on them."""
    total = x * y + w
    one, other = chosen(total, a), chosen(total, b, "zero")
    return total - one, one * other, other + ops.sum(total, -1, keepdims=True)


def of_what_was_chosen(x, y, w, a, b):
    """Elements of a softmax and of sums that depend on elements."""
    shares = ops.softmax((x - chosen(x * w, a)) * y)
    return chosen(shares * mean(shares * x), b), ops.max(x, -1)


FUNCTIONS = {
    "several": several,
    "of what was chosen": of_what_was_chosen,
    "alone": lambda x, y, w, a, b: chosen(x * y - w, a),
    "two of one array": lambda x, y, w, a, b: chosen(x * y, a) - chosen(x * y, b),
    "of a layer norm": lambda x, y, w, a, b: (chosen(layer_norm(x * y, w, w), a), layer_norm(x * y, w, w)),
    "of a softmax and a part of it": lambda x, y, w, a, b: (
        chosen(ops.log_softmax(x * y), a),
        ops.sum(ops.log_softmax(x * y) * w, -1),
    ),
    "and a sum of another type": lambda x, y, w, a, b: (
        ops.sum(ops.cast(x * y, "float64"), -1) + ops.cast(chosen(x * y, b), "float64")[..., 0],
        x * y + chosen(x * y, a),
    ),
}


def tuple_of(found):
    return found if isinstance(found, tuple) else (found,)


@pytest.fixture
def compare(device, one_by_one):
    """A function that checks the bits of the operators one by one, and that a row kernel takes all elements."""

    def compare(function, *arrays, round_each=False):
        arrays = [placed(device, one) for one in arrays]
        fused = ep.fuse(function, round_each=round_each)
        said = fused.explain(*arrays)
        assert "row kernel" in said
        assert "operator of gather" not in said
        expected = one_by_one(function, *arrays, round_each=round_each)
        found = tuple_of(fused(*arrays))
        assert [one.shape for one in found] == [one.shape for one in expected]
        for one, other in zip(found, expected, strict=True):
            assert bits(host(one)) == bits(host(other)), said

    return compare


def draw(rng, rows, length, dtype=np.float32):
    x, y = rng.normal(size=(2, rows, length)).astype(dtype)
    a, b = rng.integers(0, length, (2, rows, 1), np.int32)
    b[rows // 2] = length
    return x, y, rng.normal(size=length).astype(dtype), a, b


@pytest.mark.parametrize("shape", LENGTHS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_bits_of_the_operators_one_by_one(name, shape, rng, compare):
    x, y, w, a, b = draw(rng, *shape)
    if name != "several":
        b = np.minimum(b, shape[1] - 1)
    compare(FUNCTIONS[name], x, y, w, a, b)


T = DataType
TYPES = T.kDouble, T.kInt32, T.kInt8, T.kUInt64, T.kBool, T.kComplex64, T.kComplex128, T.kFloat16, T.kBFloat16


@pytest.mark.parametrize("data_type", TYPES, ids=lambda one: one.name)
def test_types_of_elements(data_type, rng, compare):
    x = (rng.normal(size=(6, 5, 33)) * 9).astype(data_type.dtype)
    a = rng.integers(0, 33, (6, 5, 1))
    compare(lambda x, a: (chosen(ops.where(x == x, x, x * x), a), x * x), x, a, round_each=True)


@pytest.mark.parametrize("indices_type", INTEGERS, ids=lambda one: one.name)
def test_types_of_indices_and_what_to_do_with_those_outside(indices_type, rng, compare):
    x, a = rng.normal(size=(40, 7)).astype(np.float32), rng.integers(0, 7, (40, 1)).astype(indices_type.dtype)
    outside = [7, np.iinfo(a.dtype).max, np.iinfo(a.dtype).min]
    compare(lambda x, a: chosen(x * x, a), x, a)
    a[[2, 30, 39], 0] = outside
    for mode in ("zero", "clip"):
        compare(lambda x, a, mode=mode: chosen(x * x, a, mode), x, a)
    a[[2, 30, 39], 0] = [0, 6, 1] if a.dtype.kind == "u" else [-1, -7, -3]
    compare(lambda x, a: chosen(x * x, a, "wrap_negative"), x, a)


@pytest.mark.parametrize("mode", ["raise", "wrap_negative"])
def test_indices_outside_are_the_errors_of_gather(mode, device, rng):
    x, a = rng.normal(size=(9, 20)), np.zeros((9, 1), np.int16)
    for value in (20, -1 if mode == "raise" else -21):
        a[5] = value
        placed_x, placed_a = placed(device, x), placed(device, a)
        with pytest.raises(IndexError, match=rf"indices.*5.* is {value}") as expected:
            host(chosen(ops.negative(placed_x), placed_a, mode))
        with pytest.raises(IndexError) as found:
            host(ep.fuse(lambda x, a: chosen(ops.negative(x), a, mode))(placed_x, placed_a))
        assert str(found.value) == str(expected.value)


PARTS = {
    "steps": lambda x: x[:, :, ::2],
    "end": lambda x: x[:, :, 40:],
    "repeated": lambda x: np.broadcast_to(x[:, :1, :40], (6, 5, 40)),
    "transposed": lambda x: x.T[:40].T,
}


@pytest.mark.parametrize("part", PARTS)
def test_strided_and_broadcast_operands(part, rng, compare):
    x, y = rng.random((6, 5, 80), np.float32), rng.random((6, 1, 40), np.float32)
    a = np.repeat(rng.integers(0, 40, (6, 5, 1)), 2, -1)[..., :1]
    compare(lambda x, y, a: chosen(x * y - mean(x * y), a), PARTS[part](x), y, a)
    compare(lambda x, y, a: x * y - chosen(x * y, a), PARTS[part](x), y, a)
    compare(lambda x, y, a: chosen(x * y, a), x[:, :1, :40], rng.random((5, 40), np.float32), a)


def test_elements_of_rows_that_are_chosen(rng, compare):
    words, w = rng.random((9, 40), np.float32), rng.random(40, np.float32)
    tokens, a = rng.integers(0, 9, (3, 5)), rng.integers(0, 40, (3, 5, 1))
    tokens[1] = 9
    compare(lambda words, tokens, w, a: chosen(ops.gather(words, tokens, mode="zero") + w, a), words, tokens, w, a)
    shifted = lambda words, w, a: chosen(ops.pad(words, [(2, 1), (0, 0)]) + w, a)  # noqa: E731
    compare(shifted, words, w, rng.integers(0, 40, (12, 1)))


def test_an_index_that_the_kernel_of_the_rows_computes(device, rng, compare, one_by_one):
    """Another kernel then takes the elements of these rows, or the operator gather does."""

    def rest(x):
        total = x * 2.0
        one = chosen(total, ops.cast(ops.max(total, -1, keepdims=True), "int32"), "clip")
        return total - one, ops.abs(one)

    compare(rest, rng.normal(size=(7, 37)).astype(np.float32))
    x = placed(device, rng.normal(size=37).astype(np.float32))
    alone = lambda x: rest(x)[1]  # noqa: E731
    assert "1: row kernel of gather abs" in ep.fuse(alone).explain(x)
    for function in (alone, lambda x: chosen(x * 2.0, ops.cast(ops.max(x * 2.0, -1, keepdims=True), "int32"), "clip")):
        assert bits(host(ep.fuse(function)(x))) == bits(host(*one_by_one(function, x)))


@pytest.mark.parametrize("shape", LENGTHS, ids=str)
def test_outputs_that_are_inputs(shape, device, rng, one_by_one):
    """All threads read the element before any of them overwrites it."""

    def rest(x, y, a):
        total = x * y
        return total - chosen(total, a), chosen(total * y, a)

    x, y, _, a, _ = draw(rng, *shape)
    expected = [bits(host(one)) for one in one_by_one(rest, *(placed(device, one) for one in (x, y, a)))]
    for k in range(2):
        given = [placed(device, one) for one in (x, y, a)]
        ep.fuse(rest)(*given, out=(given[k], placed(device, np.zeros((shape[0], 1), np.float32))))
        assert bits(host(given[k])) == expected[0]


def cross_entropy(scores, labels):
    """Return the mean cross-entropy of rows of scores."""
    return -ops.mean(ops.gather(ops.log_softmax(scores), labels, axis=1, batch_dims=1))


def test_one_index_for_each_row_with_and_without_an_axis(device, rng, compare):
    x, a = rng.normal(size=(9, 33)).astype(np.float32), rng.integers(0, 33, 9)
    for labels in (a, a[:, None]):
        fused = ep.fuse(cross_entropy)
        said = fused.explain(placed(device, x), placed(device, labels))
        assert said.startswith("0: row kernel of log_softmax gather; reads"), said
        assert said.splitlines()[0].endswith("writes 36")
        compare(cross_entropy, x, labels)
    compare(lambda x, a: ops.sum(x * x, -1) - chosen_of(x * x, a), x, a)
    compare(lambda x, a: ops.gather(x * x, a), x[0], np.array(5))
    compare(lambda x, a: x[:, :9] - chosen_of(x * x, a), x, a)  # one number for each column


def test_an_element_of_16_bits_stays_in_float32(device, rng):
    x, y, w, a, _ = draw(rng, 20, 40)
    half = [one.astype(DataType.kBFloat16.dtype) for one in (x, y, w)]
    function = lambda x, y, w, a: chosen(layer_norm(x * y, w, w), a) * 0.5  # noqa: E731
    found = host(ep.fuse(function)(*(placed(device, one) for one in (*half, a))))
    wide = host(ep.fuse(function)(*(placed(device, one) for one in (*(one.astype(np.float32) for one in half), a))))
    assert bits(found) == bits(wide.astype(found.dtype))


def test_what_no_row_kernel_chooses(device, rng):
    x, a = placed(device, rng.random((3, kMaxRow + 1), np.float32)), placed(device, np.zeros((3, 1), np.int64))
    assert f"rows have {kMaxRow} elements at most" in ep.fuse(lambda x, a: chosen(x * x, a)).explain(x, a)
    x = placed(device, rng.random((3, 9), np.float32))
    said = ep.fuse(lambda x, a: chosen(x, a) * 2.0).explain(x, a)
    assert "no kernel computes the rows of which it takes elements" in said
