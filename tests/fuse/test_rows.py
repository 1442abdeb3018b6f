"""Row kernels: reductions along the last axis with maps before, between and after them."""

import numpy as np
import pytest

import ep
from ep import DataType, DeviceManagerRegistry, DeviceType
from ep.common.primitive.stages import stages_of
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import Step, Structure, kMaxRow
from ep.include.primitive.unary_op import UnaryOp
from tests.fuse.test_random_graphs import bits

ops = ep.ops


def mean(x):
    return ops.mean(x, -1, keepdims=True)


def layer_norm(x, w, b):
    d = x - mean(x)
    return d * ops.rsqrt(mean(d * d) + 1e-5) * w + b


def cross_entropy(x, shares):
    return -ops.sum(ops.log_softmax(x) * shares, -1)


def masked_mean(x, mask):
    return ops.sum(ops.where(mask > 0, x, 0.0), -1) / ops.sum(ops.cast(mask > 0, x.dtype), -1)


def likelihood(x, labels):
    return -ops.gather(ops.log_softmax(x), labels, axis=-1, batch_dims=-1)


FUNCTIONS = {
    "layer norm": (layer_norm, "xwb"),
    "RMS norm": (lambda x, w: x * ops.rsqrt(mean(x * x) + 1e-5) * w, "xw"),
    "cross-entropy": (cross_entropy, "xy"),
    "distance": (lambda x, y: ops.sqrt(ops.sum((x - y) * (x - y), -1)), "xy"),
    "normalised": (lambda x: x / ops.sqrt(ops.sum(x * x, -1, keepdims=True)), "x"),
    "masked mean": (masked_mean, "xm"),
    "residual": (lambda x, y, w, b: (x + b + y, layer_norm(x + b + y, w, b)), "xywb"),
    "scaled softmax": (lambda x, m: ops.softmax(x * 0.125 + m), "xm"),
    "gradient of softmax": (lambda x, y: ops.softmax_grad(dy=x * 2.0, y=ops.softmax(y)) * 0.125, "xy"),
    "gradient of log_softmax": (
        lambda x, y: ops.log_softmax_grad(dy=x - 1.0, y=y) * ops.sum(x, -1, keepdims=True),
        "xy",
    ),
    "gradient of what it reads": (lambda x: ops.log_softmax_grad(dy=x, y=x) + ops.softmax_grad(dy=x, y=x), "x"),
    "range": (lambda x: ops.max(ops.abs(x), -1) - ops.min(ops.abs(x), -1), "x"),
    "of rows": (lambda x, r: mean(x * r) * r + r, "xr"),
    "likelihood": (likelihood, "xi"),
}


def draw(rng, kinds, rows, length, dtype=np.float32):
    """Return arrays of elements (x, y, m), of one row for all rows (w, b), of one number for each row (r), and of one
    index for each row (i).
    """
    shapes = {"w": (length,), "b": (length,), "r": (rows, 1)}
    return [
        rng.integers(0, length, (rows, 1))
        if kind == "i"
        else rng.normal(size=shapes.get(kind, (rows, length))).astype(dtype)
        for kind in kinds
    ]


def check(found, expected):
    found = found if isinstance(found, tuple) else (found,)
    assert [one.shape for one in found] == [one.shape for one in expected]
    assert [bits(one) for one in found] == [bits(one) for one in expected]


def test_results_are_near_those_of_numpy(rng):
    x, w, b = draw(rng, "xwb", 50, 700)
    d = x - x.mean(-1, keepdims=True, dtype=np.float64)
    exact = d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(ep.fuse(layer_norm)(x, w, b), exact, rtol=1e-5, atol=1e-5)
    x, shares = rng.normal(0, 30, (20, 99)), rng.random((20, 99))
    logs = x - np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)) - x.max(-1, keepdims=True)
    np.testing.assert_allclose(ep.fuse(cross_entropy)(x, shares), -(logs * shares).sum(-1), rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_any_number_of_threads(threads, rng, one_by_one):
    x, w, b = draw(rng, "xwb", 3000, 257)
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    before = device.GetNumThreads()
    device.SetNumThreads(threads)
    try:
        check(ep.fuse(layer_norm)(x, w, b), one_by_one(layer_norm, x, w, b))
    finally:
        device.SetNumThreads(before)


def test_rows_and_columns_of_one_size(rng, one_by_one):
    """A mean without its axis broadcasts as one number for each column, so it is computed before."""
    x, v = rng.random((37, 37), np.float32), rng.random(37, np.float32)

    def confused(x, v):
        m, kept = ops.mean(x, -1), mean(x)
        return x - m, x - kept, m - v, ops.sum(x * v, -1) * v, kept - v

    fused = ep.fuse(confused)
    check(fused(x, v), one_by_one(confused, x, v))
    np.testing.assert_allclose(fused(x, v)[0], x - x.mean(-1), rtol=1e-5, atol=1e-6)
    assert "cut before mean: its shape is (37,)" in fused.explain(x, v)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: ops.sum(x * x, 0) + ops.max(x * x, 0), "only what goes along the last axis"),
        (lambda x: ops.softmax(x * 2.0, 0), "only what goes along the last axis"),
        (lambda x: ops.sum(x, -1), "no other operator is computed with it"),
    ],
)
def test_what_is_computed_alone_and_why(function, why, rng, one_by_one):
    x = rng.random((5, 9), np.float32)
    fused = ep.fuse(function)
    assert why in fused.explain(x)
    check(fused(x), one_by_one(function, x))


def test_operands_in_reverse(rng, one_by_one):
    x, mask = rng.random((6, 5, 80), np.float32)[::-1, :, 40:], rng.random((6, 1, 80), np.float32)[:, :, ::-2]
    norm = FUNCTIONS["scaled softmax"][0]
    check(ep.fuse(norm)(x, mask), one_by_one(norm, x, mask))
    distance = lambda x, m: ops.max(ops.abs(x - m), (0, 1))  # noqa: E731
    check(ep.fuse(distance)(x, mask), one_by_one(distance, x, mask))


def test_rows_that_are_too_long_or_empty(rng, one_by_one):
    fused = ep.fuse(lambda x: ops.softmax(x * x, -1).sum(-1))
    long, empty = rng.random((2, kMaxRow + 1), np.float32), np.zeros((3, 0), np.float32)
    assert f"rows have 1 to {kMaxRow} elements" in fused.explain(long)
    check(fused(long), one_by_one(lambda x: ops.softmax(x * x, -1).sum(-1), long))
    fused = ep.fuse(lambda x: ops.sum(x * x, -1))
    assert fused(empty).tolist() == [0, 0, 0]
    assert fused(np.zeros((0, 5), np.float32)).shape == (0,)
    with pytest.raises(ValueError, match="no elements"):
        ep.fuse(lambda x: ops.max(x * x, -1))(empty)


@pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 64, 99, 512, 1001])
def test_bfloat16_is_computed_in_pairs(length, rng, one_by_one):
    """Contiguous operands are read by pairs of elements, others one element at a time; both give the same bits."""
    dtype = DataType.kBFloat16.dtype
    numbers = (rng.normal(size=(3, 7, length)) * 10.0 ** rng.integers(-45, 38, (3, 7, length))).astype(dtype)
    numbers[0, 1] = rng.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -3e38]), length)
    x, y, r = numbers[0], numbers[1], numbers[2, :, :1]

    def chain(x, y, r):
        return x * y + x, (x - y) * r, ops.maximum(x, r), x * 3.0

    def sums(x, y, r):
        return ops.sum((x - y) * r, -1), x - mean(x), mean(ops.abs(x) * y) - x

    spaced = np.zeros((2, 7, 2 * length), dtype)[:, :, ::2]
    spaced[:] = x, y
    for function in (chain, sums):
        with np.errstate(all="ignore"):
            wide = ep.fuse(function)(*(one.astype(np.float32) for one in (x, y, r)))
            expected = [one.astype(dtype) for one in wide]
        check(ep.fuse(function)(x, y, r), expected)
        check(ep.fuse(function)(*spaced, r), expected)
        check(ep.fuse(function, round_each=True)(x, y, r), one_by_one(function, x, y, r, round_each=True))
        out = (None, None, x.copy()) + (None,) * (function is chain)
        check(ep.fuse(function)(out[2], y, r, out=out), expected)


@pytest.mark.parametrize("shapes", [((8, 30), (9, 31), (400, 3)), ((8, 32), (9, 33), (2, 5000))])
def test_another_length_compiles_nothing(shapes, rng):
    """Rows of fewer than 32 elements and longer ones have kernels of their own."""
    from ep.cpu.compile.compiler import statistics

    fused = ep.fuse(layer_norm)
    for number, (rows, length) in enumerate(shapes):
        if number == 1:
            before = len(statistics.names)
        fused(*draw(rng, "xwb", rows, length))
    assert len(statistics.names) == before


@pytest.mark.parametrize("length", [31, 32, 33, 61, 64, 101, 8191])
def test_sums_of_what_is_computed_in_the_same_loop(length, rng, one_by_one):
    x, y, m = draw(rng, "xym", 5, length)
    for name, arrays in (("distance", (x, y)), ("normalised", (x,)), ("masked mean", (x, m)), ("RMS norm", (x, y[0]))):
        check(ep.fuse(FUNCTIONS[name][0])(*arrays), one_by_one(FUNCTIONS[name][0], *arrays))
    signed = lambda x, y: (ops.sum(x * y, -1), mean(x + y) - x)  # noqa: E731
    check(ep.fuse(signed)(-0.0 * abs(x), abs(y)), one_by_one(signed, -0.0 * abs(x), abs(y)))
    x[1, length // 2], x[2, -1], x[3, 0] = np.nan, np.inf, -np.inf
    check(ep.fuse(signed)(x, y), one_by_one(signed, x, y))


def test_sums_of_rows_that_indices_choose(rng, one_by_one):
    table, ids, y = rng.random((11, 77), np.float32), rng.integers(0, 11, 40), rng.random((40, 77), np.float32)
    ids[:2] = 0, 10

    def distance(table, ids, y):
        d = ops.gather(table, ids) - y
        return ops.sum(d * d, -1)

    for part in (table, table[:, ::-1]):
        check(ep.fuse(distance)(part, ids, y), one_by_one(distance, part, ids, y))
    same = rng.random((40, 1), np.float32)  # overwritten by the sums of the rows that it is read with
    scaled = lambda x, r: ops.sum(x * r, -1, keepdims=True)  # noqa: E731
    expected = one_by_one(scaled, y, same)
    check(ep.fuse(scaled)(y, same, out=same), expected)


@pytest.mark.parametrize("length", [64, 67])
def test_a_result_over_its_source_after_a_launch_that_was_apart(length, rng, one_by_one):
    def twice_and_sum(x):
        twice = x * 2
        return twice, ops.sum(x * twice, -1, keepdims=True)

    fused, x = ep.fuse(twice_and_sum), rng.random((1, length), np.float32)
    expected = one_by_one(twice_and_sum, x)
    check(fused(x[0][None]), expected)  # along the axis of one element, the stride is another one
    check(fused(x, out=(x, None)), expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_of_columns_beside_rows(threads, rng, one_by_one):
    """Sums of what a row kernel computes, and of what it reads, are in its kernel."""

    def gradients(dy, x, r):
        normed = x * r
        products = dy * normed
        dx = dy - mean(products) * normed
        return dx, ops.sum(products, (0, 1)), ops.sum(dy, (0, 1), keepdims=True), ops.sum(dx, (0, 1)) * 2

    fused = ep.fuse(gradients)
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    before = device.GetNumThreads()
    device.SetNumThreads(threads)
    try:
        for shape in ((3, 7, 37), (1, 1, 100), (1, 90, 1031), (50, 80, 129)):
            dy, x, r = (rng.normal(size=one).astype(np.float32) for one in (shape, shape, (*shape[:-1], 1)))
            said = fused.explain(dy, x, r)
            assert (said.count("row kernel"), said.count("map kernel"), said.count("\n")) == (1, 1, 1), said
            expected = one_by_one(gradients, dy, x, r)
            for found, wanted in zip(fused(dy, x, r), expected, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
            again = fused(dy, x, r, out=(dy, None, None, None))  # over what it reads
            np.testing.assert_allclose(again[2], expected[2], rtol=1e-6, atol=1e-6)
    finally:
        device.SetNumThreads(before)


def test_sums_of_columns_that_the_rows_need(rng, one_by_one):
    def centred(x, w):
        d = x - ops.sum(x * w, 0)
        return d * mean(d), ops.sum(x * w, -1)

    x, w = rng.random((5, 40), np.float32), rng.random(40, np.float32)
    check(ep.fuse(centred)(x, w), one_by_one(centred, x, w))
    strided = np.ones((80, 2), np.float32)[:40, 0]
    result = ep.fuse(lambda x, w: (mean(x * w), ops.sum(x * w, 0)))(x, w, out=(None, strided))
    np.testing.assert_allclose(result[1], (x * w).sum(0), rtol=1e-6)
    over = w.copy()
    ep.fuse(lambda x, w: (mean(x * w), ops.sum(x * w, 0)))(x, over, out=(None, over))
    np.testing.assert_allclose(over, (x * w).sum(0), rtol=1e-6)


@pytest.mark.parametrize("dims", [(1, 32), (7, 33), (13, 47), (130, 100), (2, 3, 1025), (0, 64)], ids=str)
def test_columns_are_added_up_where_rows_are_written(rng, one_by_one, dims):
    """One loop computes a row, also in place, and what it adds to sums of columns. Arrays begin behind a line."""
    outer = tuple(range(len(dims) - 1))

    def centred(x, y, w):
        product = x * y
        rest = (y * w - ops.sum(product * w, -1, keepdims=True)) * x
        return rest, ops.sum(product, outer), ops.sum(y, outer)

    x, y = (np.empty(np.prod(dims) + 4, np.float32)[4:].reshape(dims) for _ in range(2))
    for one in (x, y):
        one[...] = rng.standard_normal(dims, np.float32)
    w, fused = rng.standard_normal(dims[-1], np.float32), ep.fuse(centred)
    rest, *_ = one_by_one(centred, x, y, w)
    sums = [one.sum(outer, np.float64) for one in (x * y, y)]
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    before, results = device.GetNumThreads(), set()
    try:
        for threads in (1, 2):
            device.SetNumThreads(threads)
            over = y.copy()
            for found in (fused(x, y, w), fused(x, over, w, out=(over, None, None))):
                np.testing.assert_array_equal(found[0], rest)
                for one, expected in zip(found[1:], sums, strict=True):
                    np.testing.assert_array_equal(one, expected.astype(np.float32))
                results.add(bits(np.concatenate(found[1:])))
    finally:
        device.SetNumThreads(before)
    assert len(results) == 1


def stages(structure):
    """Return what each stage reads and writes, and whether it computes what it adds up."""
    found = stages_of(structure, sums_compute=True)
    return [(one.reads, one.writes, one.op is not None and one.map is not None) for one in found]


def test_the_stages_of_sums():
    real, sub, mul, exp = DataType.kFloat, BinaryOp.kSub, BinaryOp.kMul, UnaryOp.kExp

    def step(op, *operands):
        return Step(op, operands, real)

    square = (step(mul, 0, 0), step(ReduceOp.kMean, 1), step(mul, 0, 2))
    assert stages(Structure((real,), (), square, (3,))) == [((0,), (2,), True), ((0, 2), (3,), False)]
    # a difference of two arrays that is read again is written in the same loop; a function that takes long, before it
    shared = (step(sub, 0, 1), step(ReduceOp.kMean, 2), step(sub, 2, 3))
    expected = [((0, 1), (3, 2), True), ((2, 3), (4,), False)]
    assert stages(Structure((real, real), (), shared, (4,))) == expected
    two = (step(mul, 0, 1), step(ReduceOp.kSum, 2), step(ReduceOp.kSum, 1))
    assert stages(Structure((real, real), (), two, (3, 4))) == [((0, 1), (3, 4), True)]
    several = (step(mul, 0, 1), step(ReduceOp.kSum, 2), step(ReduceOp.kMean, 1))
    assert stages(Structure((real, real), (), several, (3, 4))) == [((0, 1), (3,), True), ((1,), (4,), False)]
    slow = (step(exp, 0), step(ReduceOp.kSum, 1))
    assert stages(Structure((real,), (), slow, (2,))) == [((0,), (1,), False), ((1,), (2,), False)]
