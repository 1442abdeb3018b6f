"""ep.ops.matmul_integer and conv_integer: sums of products of 8-bit integers, beside sums of int64 term by term."""

import itertools

import numpy as np
import pytest

import ep
import ep.ops
from ep.include import DataType
from ep.include.errors import UnsupportedPrimitiveError
from ep.include.primitive import BroadcastMatmulFactory
from ep.testing.keys import needs_one_of
from tests.ops.window_references import counts_of, each_window

pytestmark = needs_one_of(BroadcastMatmulFactory, (DataType.kInt32,))

BYTES = [np.dtype("int8"), np.dtype("uint8")]
PAIRS = [*itertools.product(BYTES, BYTES)]


def numbers(rng, shape, dtype):
    """Return numbers of the whole range, of which some are at its ends."""
    info = np.iinfo(dtype)
    found = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    ends = rng.integers(0, 4, shape)
    return np.where(ends == 0, info.min, np.where(ends == 1, info.max, found)).astype(dtype)


def moved(x, zero_point, shape=()):
    """Return int64 numbers minus a zero point."""
    return x.astype(np.int64) - (0 if zero_point is None else np.reshape(zero_point, shape).astype(np.int64))


def convolved(x, w, strides, pads, dilations, groups):
    """Return the convolution of int64 numbers, window by window."""
    kernel, per_group = w.shape[2:], w.shape[0] // groups
    counts = counts_of(x.shape[2:], kernel, strides, pads, dilations)
    result = np.zeros((x.shape[0], w.shape[0], *counts), np.int64)
    for window, places in each_window(x.shape[2:], counts, kernel, strides, pads, dilations):
        for place, at, is_there in places:
            for filter_number in range(w.shape[0] if is_there else 0):
                begin = filter_number // per_group * w.shape[1]
                from_x = x[(slice(None), slice(begin, begin + w.shape[1]), *at)]
                result[(slice(None), filter_number, *window)] += from_x @ w[(filter_number, slice(None), *place)]
    return result


@pytest.mark.parametrize(("of_a", "of_b"), PAIRS, ids=str)
@pytest.mark.parametrize(
    "shapes",
    [
        ((1, 7), (7, 5)),
        ((3, 37), (37, 67)),
        ((17, 131), (131, 129)),
        ((1, 133), (133, 517)),
        ((6, 257), (257, 330)),
        ((29, 261), (261, 83)),
        ((5,), (5, 2)),
        ((2, 3), (3,)),
        ((4,), (4,)),
        ((2, 1, 3, 5), (7, 5, 2)),
        ((7, 3, 5), (5, 11)),
        ((1, 1), (1, 1)),
    ],
    ids=str,
)
def test_matrices(operate, rng, of_a, of_b, shapes):
    a, b = numbers(rng, shapes[0], of_a), numbers(rng, shapes[1], of_b)
    found = operate("matmul_integer", a, b)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.matmul(a.astype(np.int64), b.astype(np.int64)))
    points = numbers(rng, (), of_a), numbers(rng, (), of_b)
    for of_zero in itertools.product((False, True), repeat=2):
        za, zb = (one if used else None for one, used in zip(points, of_zero, strict=True))
        found = operate("matmul_integer", a, b, za, zb)
        np.testing.assert_array_equal(found, np.matmul(moved(a, za), moved(b, zb)))


@pytest.mark.parametrize(("of_a", "of_b"), PAIRS, ids=str)
@pytest.mark.parametrize(
    ("shapes", "points"),
    [
        (((3, 7), (7, 5)), ((3,), (5,))),
        (((3, 7), (7, 5)), ((3, 1), (1, 5))),
        (((2, 3, 7), (7, 5)), ((2, 3, 1), (5,))),
        (((2, 3, 7), (2, 7, 5)), ((1,), (2, 1, 5))),
        (((7,), (7, 5)), ((1,), (5,))),
        (((3, 7), (7,)), ((3,), ())),
    ],
    ids=str,
)
def test_a_zero_point_for_each_row_and_column(operate, rng, of_a, of_b, shapes, points):
    a, b = numbers(rng, shapes[0], of_a), numbers(rng, shapes[1], of_b)
    za, zb = numbers(rng, points[0], of_a), numbers(rng, points[1], of_b)
    rows = za.reshape(-1, 1) if za.ndim == 1 and za.size > 1 else za
    expected = np.matmul(moved(a, rows, rows.shape if a.ndim > 1 else ()), moved(b, zb, zb.shape))
    np.testing.assert_array_equal(operate("matmul_integer", a, b, za, zb), expected)


@pytest.mark.parametrize(
    "shapes",
    [
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
        ((2, 3), (3, 0)),
        ((0, 2, 3), (3, 2)),
        ((0,), (0,)),
        ((2, 0, 4, 0), (1, 0, 5)),
    ],
    ids=str,
)
def test_no_elements(operate, shapes):
    a, b = np.ones(shapes[0], np.uint8), np.ones(shapes[1], np.int8)
    for points in ((None, None), (np.uint8(3), np.int8(-2))):
        found, expected = operate("matmul_integer", a, b, *points), np.matmul(a.astype(np.int32), b.astype(np.int32))
        assert (found.dtype, found.shape) == (np.int32, expected.shape)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("of_a", "of_b"), PAIRS, ids=str)
def test_the_largest_sums(operate, of_a, of_b):
    """Sums of the most products that are allowed, all at the ends of the ranges, are exact; with one more, refused."""
    ends = [[int(np.iinfo(one).min), int(np.iinfo(one).max)] for one in (of_a, of_b)]
    most = (2**31 - 1) // (max(map(abs, ends[0])) * max(map(abs, ends[1])))
    for x, y in itertools.product(*ends):
        a, b = np.full((2, most), x, of_a), np.full((most, 3), y, of_b)
        np.testing.assert_array_equal(operate("matmul_integer", a, b), np.full((2, 3), most * x * y))
    a, b = np.zeros((2, most + 1), of_a), np.zeros((most + 1, 3), of_b)
    out = np.full((2, 3), 7, np.int32)
    with pytest.raises(ValueError, match=rf"k is {most + 1}, .* int32 up to k = {most}"):
        ep.ops.matmul_integer(a, b, out=out)
    assert (out == 7).all()
    most = (2**31 - 1) // 255**2
    a, b = np.full((1, most), 255, np.uint8), np.full((most, 2), -128, np.int8)
    expected = np.full((1, 2), most * 255 * -255)
    np.testing.assert_array_equal(operate("matmul_integer", a, b, np.uint8(0), np.int8(127)), expected)
    with pytest.raises(ValueError, match=rf"k is {most + 1}, .* b of int8 with a zero point .* k = {most}"):
        ep.ops.matmul_integer(np.zeros((1, most + 1), np.uint8), np.zeros((most + 1, 2), np.int8), None, 1)


CONVOLUTIONS = [
    ((2, 3, 7), (5, 3, 3), {"strides": 2, "pads": (1, 2)}),
    ((1, 3, 11, 13), (4, 3, 3, 3), {"pads": 1}),
    ((2, 4, 5, 6), (6, 2, 3, 2), {"groups": 2, "pads": (1, 0, 2, 1), "strides": (2, 1)}),
    ((1, 5, 9, 7), (5, 1, 3, 3), {"groups": 5, "pads": 1}),
    ((3, 5, 4, 4), (7, 5, 1, 1), {}),
    ((2, 2, 4, 5, 3), (3, 2, 2, 2, 2), {"dilations": (1, 2, 1)}),
    ((1, 3, 2, 2), (2, 3, 3, 3), {}),
    ((1, 33, 3, 71), (7, 33, 3, 3), {"pads": 1}),
    ((2, 3, 3, 143), (13, 3, 2, 3), {"strides": (1, 2), "pads": (0, 2, 1, 0)}),
    ((1, 2, 7, 331), (1, 2, 2, 2), {"strides": (3, 5), "dilations": (2, 3)}),
]


@pytest.mark.parametrize(("of_x", "of_w"), PAIRS, ids=str)
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolutions(operate, rng, of_x, of_w, case):
    of_shape, w_shape, given = case
    x, w, spatial = numbers(rng, of_shape, of_x), numbers(rng, w_shape, of_w), len(of_shape) - 2
    full = {"strides": 1, "pads": 0, "dilations": 1, "groups": 1} | given
    all_axes = {
        name: (full[name],) * (2 * spatial if name == "pads" else spatial)
        if isinstance(full[name], int)
        else full[name]
        for name in ("strides", "pads", "dilations")
    }
    points = numbers(rng, (), of_x), numbers(rng, (), of_w), numbers(rng, w_shape[:1], of_w)
    for zx, zw in itertools.product((None, points[0]), (None, *points[1:])):
        found = operate("conv_integer", x, w, zx, zw, **given)
        by_filter = (-1, *(1,) * (spatial + 1))
        expected = convolved(moved(x, zx), moved(w, zw, by_filter), **all_axes, groups=full["groups"])
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, expected)


def test_convolutions_without_elements(operate):
    for of_x, of_w in (((0, 3, 5), (2, 3, 3)), ((2, 3, 5), (0, 3, 3)), ((2, 3, 2), (4, 3, 3)), ((2, 0, 5), (4, 0, 3))):
        x, w = np.ones(of_x, np.uint8), np.ones(of_w, np.int8)
        for points in ((), (3,), (3, 2)):
            found = operate("conv_integer", x, w, *points)
            assert found.shape == (of_x[0], of_w[0], max(0, of_x[2] - 2))
            assert found.dtype == np.int32
            if 0 in of_x or 0 in of_w:
                np.testing.assert_array_equal(found, 0)


def test_fused_with_what_is_around_them(rng):
    a, b, point = numbers(rng, (5, 37), np.uint8), numbers(rng, (37, 67), np.int8), np.uint8(131)
    fused = ep.fuse(lambda a, b, point: ep.ops.cast(ep.ops.matmul_integer(a, b, point), "float32") * 0.5 + 1)
    for _ in range(3):
        expected = np.matmul(moved(a, point), b.astype(np.int64)).astype(np.float32) * np.float32(0.5) + 1
        np.testing.assert_array_equal(fused(a, b, point), expected)
    x, w = numbers(rng, (1, 3, 7, 5), np.uint8), numbers(rng, (4, 3, 3, 3), np.int8)
    fused = ep.fuse(lambda x, w: ep.ops.conv_integer(x, w, 128, pads=1) + 1)
    expected = convolved(moved(x, 128), w.astype(np.int64), (1, 1), (1,) * 4, (1, 1), 1) + 1
    for _ in range(3):
        np.testing.assert_array_equal(fused(x, w), expected)


def test_out_and_views(rng):
    a, b = numbers(rng, (6, 8), np.int8), numbers(rng, (10, 8), np.int8)
    for points in ((), (3,), (3, -4)):
        out = np.zeros((3, 10), np.int32)
        assert ep.ops.matmul_integer(a[::2], b.T, *points, out=out) is out
        za, zb = (*points, 0, 0)[:2]
        np.testing.assert_array_equal(out, moved(a[::2], za) @ moved(b.T, zb))


A, B = np.ones((3, 4), np.uint8), np.ones((4, 5), np.int8)
X, W = np.ones((1, 2, 5, 5), np.uint8), np.ones((4, 2, 3, 3), np.int8)


@pytest.mark.parametrize(
    ("name", "args", "error", "words"),
    [
        (
            "matmul_integer",
            (A.astype(np.int16), B),
            UnsupportedPrimitiveError,
            "a has dtype int16; matmul_integer takes int8",
        ),
        (
            "matmul_integer",
            (A, B.astype(np.float32)),
            UnsupportedPrimitiveError,
            "b has dtype float32; matmul_integer takes int8, uint8",
        ),
        (
            "matmul_integer",
            (A, A),
            ValueError,
            r"a of shape \(3, 4\) has 4 columns, and b of .* has 3 rows",
        ),
        ("matmul_integer", (A, B[0, 0]), ValueError, "b has no axes"),
        ("matmul_integer", (A, B, 256), ValueError, "a_zero_point is 256, which uint8 does not hold"),
        ("matmul_integer", (A, B, 1.5), ValueError, "a_zero_point is 1.5, which uint8 does not hold"),
        ("matmul_integer", (A, B, B[0]), TypeError, "a has dtype uint8, a_zero_point has int8"),
        (
            "matmul_integer",
            (A, B, A[0]),
            ValueError,
            r"a_zero_point has shape \(4,\); a of shape \(3, 4\) needs",
        ),
        ("matmul_integer", (A, B, None, B[0, :3]), ValueError, r"b_zero_point has shape \(3,\); b of shape \(4, 5\)"),
        ("conv_integer", (X, W[:, :1]), ValueError, "x of shape .* has 2 channels"),
        (
            "conv_integer",
            (X, W.astype(np.int32)),
            UnsupportedPrimitiveError,
            "w has dtype int32; conv_integer takes int8",
        ),
        ("conv_integer", (X, W, X[0, :, 0, 0]), ValueError, r"x_zero_point has shape \(2,\)"),
        ("conv_integer", (X, W, None, W[:3, 0, 0, 0]), ValueError, r"w_zero_point has shape \(3,\); w of shape"),
        ("conv_integer", (X, W, None, 128), ValueError, "w_zero_point is 128, which int8 does not hold"),
        (
            "conv_integer",
            (np.zeros((1, 33026, 1), np.uint8), np.zeros((1, 33026, 1), np.uint8)),
            ValueError,
            "k is 33026, .* sums of x of uint8 and w of uint8 are int32 up to k = 33025",
        ),
    ],
)
def test_wrong_arguments(name, args, error, words):
    with pytest.raises(error, match=words):
        getattr(ep.ops, name)(*args)
    with pytest.raises(error, match=words):
        ep.fuse(lambda *arrays: getattr(ep.ops, name)(*arrays))(*args)


def test_there_is_no_gradient():
    with pytest.raises(TypeError, match="matmul_integer has no gradient"):
        ep.ops.vjp("matmul_integer", (A, B), {}, None, np.ones((3, 5), np.int32))


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_wider_integers_are_refused(dtype, groups):
    """Also those of a depthwise convolution, whose bytes are computed in float32."""
    with pytest.raises(UnsupportedPrimitiveError, match=f"have dtype {np.dtype(dtype)}"):
        ep.ops.conv_integer(np.ones((1, 3, 5), dtype), np.ones((3, 3 // groups, 2), dtype), groups=groups)
