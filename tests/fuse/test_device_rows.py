"""Row kernels on the device under test: the bits of the operators one by one, for rows of all lengths and layouts."""

import numpy as np
import pytest

import ep
from ep.include.primitive.structure import kMaxRow
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed
from tests.fuse.test_random_graphs import bits
from tests.fuse.test_rows import FUNCTIONS, mean
from tests.fuse.test_rows import draw as drawn

ops = ep.ops
LENGTHS = [(7, 37), (37, 1), (37, 37), (300, 4), (5, 64), (3, 300), (1, 1), (2, 2048), (2, kMaxRow)]
"""Lengths of rows for one thread, a part of a warp, a warp and a block, with and without whole packs."""


def tuple_of(found):
    return found if isinstance(found, tuple) else (found,)


@pytest.fixture
def compare(one_by_one):
    """A function that checks that its argument is one row kernel, with the bits of the operators one by one."""

    def compare(function, *arrays, round_each=False):
        fused = ep.fuse(function, round_each=round_each)
        said = fused.explain(*arrays)
        assert (said.count("row kernel"), said.count("\n")) == (1, 0), said
        found, expected = tuple_of(fused(*arrays)), one_by_one(function, *arrays, round_each=round_each)
        assert [one.shape for one in found] == [one.shape for one in expected]
        for one, other in zip(found, expected, strict=True):
            assert bits(host(one)) == bits(host(other))

    return compare


@pytest.mark.parametrize("shape", LENGTHS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("expression", FUNCTIONS)
def test_the_bits_of_the_operators_one_by_one(expression, dtype, shape, device, rng, compare):
    function, kinds = FUNCTIONS[expression]
    compare(function, *(placed(device, one) for one in drawn(rng, kinds, *shape, dtype)))


def test_reductions_of_several_types(device, rng, compare):
    """Each type divides a row among threads in its own way."""

    def several(x):
        share = ops.mean(ops.cast(x > 0, "float32"), -1, keepdims=True)
        wide = ops.sum(ops.cast(x, "float64"), -1, keepdims=True)
        return x * share, ops.any(x > 2, -1), ops.max(x, -1), ops.cast(x, "float64") - wide

    compare(several, placed(device, rng.normal(size=(3, 701)).astype(np.float32)))


@pytest.mark.parametrize("data_type", [ep.DataType.kFloat16, ep.DataType.kBFloat16], ids=str)
def test_16_bits_stay_in_float32_unless_each_value_is_rounded(data_type, device, rng, compare):
    function, kinds = FUNCTIONS["layer norm"]
    arrays = drawn(rng, kinds, 5, 72, data_type.dtype)
    compare(function, *(placed(device, one) for one in arrays), round_each=True)
    entropy, _ = FUNCTIONS["cross-entropy"]
    compare(entropy, *(placed(device, one) for one in drawn(rng, "xy", 5, 72, data_type.dtype)), round_each=True)
    wide = host(ep.fuse(function)(*(placed(device, one.astype(np.float32)) for one in arrays)))
    found = host(ep.fuse(function)(*(placed(device, one) for one in arrays)))
    assert bits(found) == bits(wide.astype(data_type.dtype))


def test_strided_and_broadcast_operands(device, rng, compare, one_by_one):
    x = rng.random((6, 5, 80), np.float32)
    mask, rest = rng.random((6, 1, 40), np.float32), lambda x, m: x * m - mean(x * m)
    total = lambda x: ops.sum(x, -1) + ops.max(x, -1)  # noqa: E731
    for part in (x[:, :, ::2], x[:, :, 40:], np.broadcast_to(x[:, :1, :40], (6, 5, 40)), x.T[:40].T):
        compare(rest, placed(device, part), placed(device, mask))
        compare(total, placed(device, part))
    distance, _ = FUNCTIONS["distance"]
    a, b = (placed(device, rng.random(shape, np.float32)) for shape in ((9, 1, 33), (7, 33)))
    compare(distance, a, b)
    out = placed(device, np.zeros((9, 14), np.float32)[:, ::2])
    ep.fuse(distance)(a, b, out=out)
    assert bits(host(out)) == bits(host(*one_by_one(distance, a, b)))


def test_outputs_that_are_inputs(device, rng, one_by_one):
    """The first result may be in the memory of an operand that is read again: then it is written last."""
    x, w = drawn(rng, "xy", 40, 40)

    def both(x, w):
        h = x * 2.0
        return h, ops.sum(h, -1), (x - mean(h)) * w

    expected = [bits(host(one)) for one in one_by_one(both, placed(device, x), placed(device, w))]
    for k in range(3):
        given = placed(device, x), placed(device, w)
        out = [placed(device, np.zeros(one, np.float32)) for one in ((40, 40), (40,), (40, 40))]
        out[k] = out[k] if k == 1 else given[k // 2]
        ep.fuse(both)(*given, out=tuple(out))
        assert [bits(host(one)) for one in out] == expected


def test_numbers_of_rows_that_are_outputs(device, rng, one_by_one):
    """All threads of a row read its number before the first one overwrites it; threads without a row read none."""
    total = lambda x, r: ops.sum(x * x, -1, keepdims=True) * r  # noqa: E731
    for shape in ((5, 3), (5, 37), (3, 300)):
        x, r = (placed(device, rng.random(one, np.float32)) for one in (shape, (shape[0], 1)))
        (expected,) = map(host, one_by_one(total, x, r))
        assert ep.fuse(total)(x, r, out=r) is r
        assert bits(host(r)) == bits(expected)


def test_numbers_are_words_of_a_launch(device, rng):
    x = placed(device, rng.normal(size=(9, 50)).astype(np.float32))
    fused = ep.fuse(lambda x, rate: (x - mean(x)) * rate)
    for rate in (0.5, 3.0):
        assert bits(host(fused(x, rate))) == bits(host(ops.mul(ops.sub(x, mean(x)), rate)))


EXTREMES = lambda x: (x - ops.max(x, -1, keepdims=True), ops.min(x, -1), ops.max(x, -1)), "x"


@pytest.mark.parametrize(
    "given", [*(FUNCTIONS[name] for name in ("layer norm", "normalised", "range", "scaled softmax")), EXTREMES]
)
def test_what_is_not_finite_and_zeros_of_both_signs(given, device, rng, compare):
    (function, kinds), (x, w, b) = given, drawn(rng, "xwb", 9, 100)
    x[0, 3], x[1, 5], x[2, 7:9], x[3] = np.nan, np.inf, (np.inf, -np.inf), 0
    x[4] = np.where(rng.random(100) < 0.5, -0.0, 0.0)
    arrays = (x, w, b)[: len(kinds)] if "m" not in kinds else (x, x)
    compare(function, *(placed(device, one) for one in arrays))


def test_sums_that_overflow(device, compare):
    large = np.full((4, 600), 1e308) * np.array([[1], [1e-3], [1], [-1]])  # the sums overflow, the means do not
    compare(lambda x: mean(x) * 0.5 + x * 0.0, placed(device, large))
    assert np.isfinite(host(ep.fuse(lambda x: mean(x) * 0.5 + x * 0.0)(placed(device, large)))).all()
