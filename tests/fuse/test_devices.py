"""Expressions on the device under test have the bits of its operators one by one."""

import numpy as np
import pytest

import ep
from ep.ops import copy_to_host as host
from tests.fuse.maps import EXPRESSIONS, REAL, draw
from tests.fuse.placing import part, placed
from tests.fuse.test_random_graphs import TYPES, bits, check


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression, device, rng):
    function, make, numbers = EXPRESSIONS[expression]
    arrays = [placed(device, array) for array in make(rng, 25)]
    expected = function(*arrays, *numbers)
    fused = ep.fuse(function, round_each=True)
    found, said = fused(*arrays, *numbers), fused.explain(*arrays, *numbers)
    assert said.count("map kernel") == 1
    found, expected = (each if isinstance(each, tuple) else (each,) for each in (found, expected))
    assert {type(one) for one in found} == {type(one) for one in expected}
    check(list(map(host, found)), list(map(host, expected)), said)


def test_a_product_is_not_fused_with_a_sum_of_another_op(device):
    """The square of 1 + 2^-12, minus its rounded value: 0 in two ops, 2^-24 in a fused multiply-add."""
    x = placed(device, np.full(7, 1 + 2.0**-12, REAL))
    y = placed(device, np.full(7, 1 + 2.0**-11, REAL))
    assert not host(ep.fuse(lambda x, y: x * x - y)(x, y)).any()


def test_a_block_of_strided_views(device, rng):
    p, g, m = draw(rng, (6, 16), (6, 16), (6, 16))
    views = [placed(device, one[:, ::2]) for one in (p, g)] + [placed(device, m[:, :8])]
    expected_m = m[:, :8] * REAL(0.5) + g[:, ::2]
    expected_p = p[:, ::2] - REAL(0.25) * expected_m
    with ep.lazy() as lazy:
        of_p, of_g, of_m = map(lazy.view, views)
        of_m[...] = 0.5 * of_m + of_g
        of_p[...] -= 0.25 * of_m
        assert lazy.explain().count("map kernel") == 1
    assert np.array_equal(host(views[0]), expected_p)
    assert np.array_equal(host(views[2]), expected_m)
    with ep.lazy() as lazy:
        view = lazy.view(views[0])
        view[...] = 3.0
    assert (host(views[0]) == 3).all()


def test_reductions_and_reshapes_are_computed_one_by_one(device, rng):
    (x,) = draw(rng, (5, 12))
    given = placed(device, x)
    fused = ep.fuse(lambda x, rate: (((x - x.mean(0)) * rate).T.reshape(6, 10), x))
    expected = ep.ops.mul(ep.ops.sub(given, ep.ops.mean(given, 0)), 0.5)
    first, second = fused(given, 0.5)
    assert np.array_equal(host(first), host(expected).T.reshape(6, 10))
    assert np.array_equal(host(second), x)
    assert "operator of mean" in fused.explain(given, 0.5)


def test_a_product_and_its_bias(device, rng):
    """A product of transposed operands; a device whose products are a library's computes the bias in a map kernel."""
    x, w, bias = (placed(device, one) for one in draw(rng, (12, 5), (7, 12), (7,)))
    fused = ep.fuse(lambda x, w, bias: ep.ops.relu(x.T @ w.T + bias))
    said = fused.explain(x, w, bias)
    assert "permute" not in said
    assert "product kernel of matmul add relu" in said or "computes no maps on a product" in said
    product = ep.ops.matmul(x, w, transpose_x1=True, transpose_x2=True)
    assert np.array_equal(host(fused(x, w, bias)), host(ep.ops.relu(ep.ops.add(product, bias))))


def test_outputs_in_place_and_those_that_overlap(device, rng):
    (x,) = draw(rng, (4, 6))
    given, first = placed(device, x), placed(device, np.zeros_like(x))
    fused = ep.fuse(lambda x: (x * 2.0, x + 1.0))
    assert fused(given, out=(first, given))[1] is given
    assert np.array_equal(host(first), x * 2)
    assert np.array_equal(host(given), x + 1)
    with pytest.raises(ValueError, match=r"^out\[1\] overlaps out\[0\], which is written too"):
        fused(given, out=(first, first))
    with pytest.raises(TypeError, match=r"^out\[1\] has dtype float64"):
        fused(given, out=(first, placed(device, np.zeros((4, 6)))))
    memory = placed(device, np.zeros(12, REAL))
    with pytest.raises(ValueError, match=r"^out overlaps an array that is read"):
        ep.fuse(lambda x: x + 1.0)(part(memory, 0, 11), out=part(memory, 1, 12))
    assert not host(memory).any()
    assert np.array_equal(host(given), x + 1)


def test_without_elements_and_without_axes(device):
    fused = ep.fuse(lambda x, y: (x * y, x - y))
    for shape in ((0, 3), (), (1, 1)):
        x = placed(device, np.full(shape, 2, REAL))
        first, second = fused(x, x)
        assert (first.shape, second.shape) == (shape, shape)
        assert (host(first) == 4).all()


def test_another_number_traces_nothing(device):
    traced = []
    fused = ep.fuse(lambda x, rate, shift=1.0: traced.append(1) or ep.ops.relu(x * rate - shift))
    for count in (8, 16, 9):
        for rate in (0.5, 2.0):
            x = placed(device, np.arange(count, dtype=REAL))
            assert np.array_equal(host(fused(x, rate)), np.maximum(np.arange(count, dtype=REAL) * REAL(rate) - 1, 0))
    assert len(traced) == 3


def test_all_types_are_read_and_written(device, rng):
    arrays = [placed(device, np.arange(20).astype(data_type.dtype)) for data_type in dict.fromkeys(TYPES)]
    results = ep.fuse(lambda *arrays: tuple(ep.ops.add(one, one) for one in arrays))(*arrays)
    for one, result in zip(arrays, results, strict=True):
        assert bits(host(result)) == bits(host(ep.ops.add(one, one)))


@pytest.mark.parametrize("dtype", [REAL, np.dtype(np.int16)])
def test_maps_of_chosen_rows(dtype, device, rng):
    """Rows by packs and one by one, of several axes, and by indices of several types and modes."""

    def chosen(x, y, a, b, axis, mode):
        rows = ep.ops.gather(x, a, axis=axis, mode=mode)
        return rows * y + ep.ops.gather(x, b, axis=axis, mode="wrap_negative"), rows

    fused = ep.fuse(chosen, round_each=True)
    for columns, axis, types in ((32, 0, (np.int64, np.int8)), (19, 1, (np.uint8, np.int64))):
        x, y = ((rng.normal(size=shape) * 9).astype(dtype) for shape in ((3, 5, columns)[1 - axis :], (columns,)))
        a, b = (rng.integers(0, 5, 7).astype(of) for of in types)
        b[2] = -5
        arrays = [placed(device, one) for one in (x, y, a, b)]
        for mode in ("raise", "zero", "clip"):
            if mode != "raise":
                a[3] = 200 if a.dtype == np.uint8 else -1
                arrays[2] = placed(device, a)
            said = fused.explain(*arrays, axis, mode)
            assert "map kernel of gather" in said
            assert "operator" not in said
            check(list(map(host, fused(*arrays, axis, mode))), list(map(host, chosen(*arrays, axis, mode))), said)


def test_rows_and_reductions_of_chosen_rows(device, rng):
    def embedded(words, tokens, places, w):
        x = ep.ops.gather(words, tokens) + places
        d = x - ep.ops.mean(x, -1, keepdims=True)
        return d * ep.ops.rsqrt(ep.ops.mean(d * d, -1, keepdims=True) + 1e-5) * w

    def summed(words, tokens, places, w):
        return ep.ops.sum(ep.ops.gather(words, tokens) * w + places, (0, 1)), ep.ops.sum(places, 0)

    for columns in (64, 35):
        words, places, w = draw(rng, (9, columns), (4, columns), (columns,))
        arrays = [placed(device, one) for one in (words, rng.integers(0, 9, (3, 4)), places, w)]
        for function, kind in ((embedded, "row kernel of gather"), (summed, "reduce kernel of gather")):
            fused = ep.fuse(function, round_each=True)
            said = fused.explain(*arrays)
            assert kind in said
            found, expected = fused(*arrays), function(*arrays)
            each = found if isinstance(found, tuple) else (found,)
            check([*map(host, each)], [*map(host, expected if isinstance(expected, tuple) else (expected,))], said)


def test_the_index_of_a_chosen_row_is_checked(device, rng):
    (x,) = draw(rng, (5, 16))
    fused = ep.fuse(lambda x, indices: ep.ops.gather(x, indices) * 2.0)
    with pytest.raises(IndexError, match=r"indices(\.flat)?\[1\] is 5"):
        host(fused(placed(device, x), placed(device, np.array([0, 5, 2]))))
