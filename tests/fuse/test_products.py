"""Product kernels: maps of a product's values, computed block by block."""

import numpy as np
import pytest

import ep
from ep.testing.device_under_test import DeviceUnderTest
from tests.fuse.test_random_graphs import ROWS, Graph, check_graph
from tests.fuse.test_rows import check

ops = ep.ops
BFLOAT16 = ep.DataType.kBFloat16.dtype
SHAPES = [
    ((3, 5), (5, 7)),
    ((1, 70), (70, 33)),
    ((130, 40), (40, 1)),
    ((7, 300), (300, 5)),  # few rows and columns
    ((2, 5000), (5000, 50)),  # its sums are split
    ((301, 700), (700, 203)),  # several pieces of rows and of sums
    ((600, 3), (3, 700)),  # blocks of rows and of columns
    ((3, 1, 11, 8), (2, 8, 13)),
    ((2, 9, 6), (6, 4)),  # batches are merged into rows
    ((4, 0), (0, 5)),
    ((0, 4), (4, 5)),
]

ROWS_AND_COLUMNS = [
    ((1, 300), (300, 37)),
    ((37, 300), (300, 1)),
    ((6, 300), (300, 1)),
    ((1, 300), (300, 6)),
    ((3, 70), (70, 200)),
]


def layer(x, w, bias, rest):
    return ops.gelu(x @ w + bias) * rest - bias


def draw(rng, shapes, dtype):
    x, w = (rng.normal(size=shape).astype(dtype) for shape in shapes)
    of_c = (*np.broadcast_shapes(x.shape[:-2], w.shape[:-2]), x.shape[-2], w.shape[-1])
    return x, w, rng.normal(size=of_c[-1:]).astype(dtype), rng.normal(size=of_c).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, BFLOAT16], ids=lambda one: np.dtype(one).name)
def test_the_bits_of_the_operators_one_by_one(dtype, rng, one_by_one):
    for shapes in SHAPES:
        arrays = draw(rng, shapes, dtype)
        fused = ep.fuse(layer, round_each=True)
        assert "0: product kernel of matmul add gelu mul sub" in fused.explain(*arrays)
        check(fused(*arrays), one_by_one(layer, *arrays, round_each=True))


def test_complex_products_and_their_real_parts(rng, one_by_one):
    def parts(x, w, bias):
        product = x @ w + bias
        return ops.real(product), product

    for shapes in SHAPES:
        x, w, bias, _ = (one + 1j * one[::-1] for one in draw(rng, shapes, np.complex64))
        fused = ep.fuse(parts)
        assert "product kernel" in fused.explain(x, w, bias)
        check(fused(x, w, bias), one_by_one(parts, x, w, bias))


@pytest.mark.parametrize("threads", [1, 2])
def test_any_number_of_threads(threads, rng, one_by_one):
    device = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU, 0)
    before = device.GetNumThreads()
    device.SetNumThreads(threads)
    try:
        for shapes in SHAPES[4:7]:
            arrays = draw(rng, shapes, np.float32)
            check(ep.fuse(layer)(*arrays), one_by_one(layer, *arrays))
    finally:
        device.SetNumThreads(before)


@pytest.mark.parametrize("shapes", [SHAPES[0], SHAPES[5], SHAPES[6], SHAPES[7]])
def test_operands_and_results_of_any_strides(shapes, rng, one_by_one):
    x, w, bias, rest = draw(rng, shapes, np.float32)
    axes = (*range(rest.ndim - 2), rest.ndim - 1, rest.ndim - 2)
    arrays = x, w, np.repeat(bias, 2)[::-2], np.ascontiguousarray(rest.transpose(axes)).transpose(axes)
    expected = one_by_one(layer, *arrays)
    out = np.zeros((*rest.shape, 2), np.float32)
    ep.fuse(layer)(*arrays, out=out[..., 1])
    check(out[..., 1], expected)
    assert not out[..., 0].any()


def test_results_in_the_place_of_operands(rng, one_by_one):
    for shapes in (SHAPES[0], SHAPES[5], ((5, 5), (5, 5))):
        x, w, bias, rest = draw(rng, shapes, np.float32)
        expected, fused = one_by_one(layer, x, w, bias, rest), ep.fuse(layer)
        for _ in range(2):  # with a new plan, and with a known one
            place = rest.copy()
            assert fused(x, w, bias, place, out=place) is place
            check(place, expected)
    place = x.copy()  # the product reads this matrix until its end
    check(fused(place, w, bias, rest, out=place), expected)
    check(place, expected)


def test_products_that_others_need(rng, one_by_one):
    def several(x, w, bias, rest):
        product = x @ w
        return product, ops.relu(product + bias), ops.cast(product > rest, np.int8)

    for dtype in (np.float32, BFLOAT16):
        arrays = draw(rng, SHAPES[0], dtype)
        fused = ep.fuse(several, round_each=True)
        assert "product kernel of matmul add relu" in fused.explain(*arrays)
        check(fused(*arrays), one_by_one(several, *arrays, round_each=True))


def test_two_products_and_one_of_a_product(rng, one_by_one):
    def gated(x, w, u):
        return ops.silu(x @ w) * (x @ u) + x.sum()

    def twice(x, w, u):
        return ops.relu(ops.relu(x @ w + 1.0) @ u.T)

    x, w, u = (rng.random(shape, np.float32) for shape in ((6, 8), (8, 9), (8, 9)))
    assert ep.fuse(gated).explain(x, w, u).count("product kernel") == 1
    check(ep.fuse(gated)(x, w, u), one_by_one(gated, x, w, u))
    w, u = rng.random((8, 8), np.float32), rng.random((5, 8), np.float32)
    assert ep.fuse(twice).explain(x, w, u).count("product kernel") == 2
    check(ep.fuse(twice)(x, w, u), one_by_one(twice, x, w, u))


def test_what_needs_a_product_before(rng, one_by_one):
    """A map that also reads a value computed from the whole product cannot be computed block by block."""

    def softer(x, w):
        product = x @ w
        return ops.softmax(product) * product, product - ops.permute(product, (1, 0))

    def summed(x, w):
        product = x @ w
        return product * 2.0, product - ops.sum(product, 0)

    x, w = rng.random((2, 9, 9), np.float32)
    for function in (softer, summed):
        assert "product kernel" not in ep.fuse(function).explain(x, w)
        check(ep.fuse(function)(x, w), one_by_one(function, x, w))


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_transposed_matrices_are_read_where_they_are(dtype, rng, one_by_one):
    def both(x, w, bias):
        return x.T @ w.T + bias

    x, w, bias = (rng.normal(size=shape).astype(dtype) for shape in ((12, 6), (7, 12), (7,)))
    of_real = dtype == np.float32
    assert ("permute" in ep.fuse(both).explain(x, w, bias)) is not of_real
    found = ep.fuse(both)(x, w, bias)
    check(found, (ops.add(ops.matmul(x.T, w.T), bias),))
    np.testing.assert_allclose(found, x.T @ w.T + bias, rtol=1e-4, atol=1e-5)
    x, w = (rng.normal(size=shape).astype(dtype) for shape in ((2, 12, 6), (12, 7)))
    turned = lambda x, w: ops.permute(ops.permute(x, (0, 2, 1)), (0, 2, 1)) @ ops.permute(w, (1, 0))  # noqa: E731
    check(ep.fuse(turned)(x, w[:6].T.copy()), one_by_one(lambda x, w: x @ w, x, w[:6].copy()))


@pytest.mark.parametrize("types", [(BFLOAT16, np.float32), (np.float32, np.float16), (np.float16, BFLOAT16)], ids=str)
def test_matrices_are_converted_as_they_are_read(types, rng, one_by_one):
    def wide(one):
        return ops.cast(one, np.float32)

    def several(x, w, bias, rest):
        return ops.relu(wide(x) @ wide(w) + bias), ops.matmul(rest, wide(w), transpose_x2=True)

    def alone(x, w):
        return wide(x) @ wide(w)

    def turned(x, w, turns):
        axes = (*range(w.ndim - 2), w.ndim - 1, w.ndim - 2)
        return x @ (wide(ops.permute(w, axes)) if turns else ops.permute(wide(w), axes))

    converts = [f"converts {np.dtype(one)} to float32" for one in types if one != np.float32]
    for shapes in SHAPES + ROWS_AND_COLUMNS:
        x, w, bias, rest = draw(rng, shapes, np.float32)
        x, w = x.astype(types[0]), w.astype(types[1])
        for function, arrays in ((alone, (x, w)), (several, (x, w, bias, rest))):
            fused = ep.fuse(function)
            words = fused.explain(*arrays)
            assert " of cast" not in words
            assert all(one in words for one in converts)
            check(fused(*arrays), one_by_one(function, *arrays))
        for turns in (False, True):
            (_, expected), fused = one_by_one(several, x, w, bias, rest), ep.fuse(turned)
            assert "permute" not in fused.explain(rest, w, turns)
            check(fused(rest, w, turns), (expected,))
        out = np.zeros((*rest.shape, 2), np.float32)[..., 1]
        check(ep.fuse(alone)(x, w, out=out), one_by_one(alone, x, w))


def test_casts_that_others_need_or_that_lose_digits_are_computed(rng, one_by_one):
    def both(x, w):
        wide = ops.cast(x, np.float32)
        return wide @ w, wide + 1.0

    def narrow(x, w):
        return ops.cast(x, BFLOAT16) @ ops.cast(w, BFLOAT16)

    def computed(x, w):
        return ops.cast(ops.tanh(x), np.float32) @ w

    def vector(x, w):
        return ops.cast(x[0], np.float32) @ w

    x, w = rng.normal(size=(13, 40)).astype(BFLOAT16), rng.normal(size=(40, 7)).astype(np.float32)
    assert "map kernel of cast add" in ep.fuse(both).explain(x, w)
    check(ep.fuse(both)(x, w), one_by_one(both, x, w))
    check(ep.fuse(computed)(x, w), one_by_one(computed, x, w))
    x = x.astype(np.float32)
    assert "product kernel" not in ep.fuse(narrow).explain(x, w)
    assert "product kernel" not in ep.fuse(vector).explain(x.astype(BFLOAT16), w)
    check(ep.fuse(narrow)(x, w), one_by_one(narrow, x, w))
    check(ep.fuse(vector)(x.astype(BFLOAT16), w), one_by_one(vector, x.astype(BFLOAT16), w))


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16], ids=lambda one: np.dtype(one).name)
def test_16_bit_products_stay_in_float32(dtype, rng):
    x, w, bias, rest = draw(rng, ((33, 70), (70, 50)), dtype)
    wide = ep.fuse(layer)(*(one.astype(np.float32) for one in (x, w, bias, rest)))
    check(ep.fuse(layer)(x, w, bias, rest), (wide.astype(dtype),))
    compared = ep.fuse(lambda x, w, rest: x @ w + rest > rest)  # operands of a comparison are rounded
    total = ep.fuse(lambda x, w, rest: x @ w + rest)(x, w, rest)
    np.testing.assert_array_equal(compared(x, w, rest), total > rest)


def test_what_is_no_product_kernel_says_why(rng):
    x, w = rng.random((4, 4)), rng.random((4, 4))
    assert "product of a vector" in ep.fuse(lambda x, w: x @ w[0] + 1.0).explain(x, w)
    assert "it is not read by just one map" in ep.fuse(lambda x, w: x @ w).explain(x, w)
    assert "it is not read by just one map" in ep.fuse(lambda x, w: ops.sum(x @ w, -1)).explain(x, w)


def test_a_block_of_assignments(rng):
    x, w, total = rng.random((5, 6)), rng.random((6, 7)), rng.random((5, 7))
    expected = ops.add(total, ops.matmul(x, w))
    with ep.lazy() as lazy:
        of_x, of_w, of_total = map(lazy.view, (x, w, total))
        of_total[...] += of_x @ of_w
    check(total, (expected,))


@pytest.mark.parametrize("draw", range(8))
def test_random_graphs_with_products(draw, rng, one_by_one):
    types = [ep.DataType.kFloat, ep.DataType.kFloat, ep.DataType.kBFloat16]
    graph = Graph(rng, int(rng.integers(5, 25)), [*ROWS[:3], (3, 37, 37), (1, 37)], types, 0.1, product_share=0.25)
    graph.leaves = [np.ascontiguousarray(leaf) for leaf in graph.leaves]
    expected = one_by_one(lambda *leaves: tuple(graph.rerun(*leaves)), *graph.leaves, round_each=True)
    check_graph(DeviceUnderTest(ep.DeviceType.kCPU), graph, expected)


def test_each_product_has_the_kernel_of_its_own_maps(rng, one_by_one):
    """Products of one shape with separate biases; maps that read two of them are computed with one."""
    x, *ws = (rng.normal(size=shape).astype(np.float32) for shape in ((6, 5), (5, 7), (5, 7), (5, 7)))
    biases = rng.normal(size=(3, 7)).astype(np.float32)

    def separate(x, ws, biases):
        q, k, v = (ops.matmul(x, w) + bias for w, bias in zip(ws, (biases[0], biases[1], biases[2]), strict=True))
        return q * 0.25, ops.tanh(k), v, ops.exp(biases[0] - x[:, :1])

    def gated(x, ws, biases):
        return ops.silu(ops.matmul(x, ws[0])) * ops.matmul(x, ws[1]), ops.matmul(x, ws[2]) + biases[0]

    for function, count, alone in ((separate, 3, 0), (gated, 2, 1)):
        fused = ep.fuse(function)
        words = fused.explain(x, ws, biases)
        assert (words.count("product kernel"), words.count("operator of matmul")) == (count, alone)
        check(fused(x, ws, biases), one_by_one(function, x, ws, biases))
