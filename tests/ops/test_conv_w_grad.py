"""The gradient of a convolution by w on the CPU, whose windows are read in place: tiles, parts, memory around arrays.

Numbers are small integers, so that sums are exact in any order.
"""

import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, ops
from ep.include.data_type import as_data_type
from ep.include.primitive import BlasTransposeType, BroadcastMatmulFactory, RequirePrimitive
from ep.include.primitive.plane_windows import PlaneWindows
from ep.include.primitive.window_map import WindowMap
from tests.ops import window_references

OF_ONE_GROUP = [
    # batch, groups, filters and channels of a group, sizes, kernel, strides, pads, dilations
    (2, 1, 64, 5, (9, 11), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    (3, 2, 17, 3, (13,), (4,), (2,), (0, 1), (2,)),
    (1, 1, 100, 13, (7, 9), (3, 2), (1, 3), (0, 2, 1, 0), (2, 1)),
    (2, 3, 48, 1, (31,), (3,), (7,), (1, 1), (1,)),
    (1, 1, 33, 2, (4, 5, 6), (2, 3, 2), (1, 2, 1), (1, 0, 1, 0, 1, 1), (2, 1, 3)),
    (2, 1, 31, 7, (8, 8), (1, 1), (2, 2), (0, 0, 0, 0), (1, 1)),
    (9, 1, 70, 31, (23, 24), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),  # parts of the sums
    (2, 1, 260, 40, (6, 5), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),  # parts of the rows
    (1, 1, 18, 4, (5, 3), (3, 3), (2, 2), (0, 1, 0, 2), (1, 1)),
]
DEPTHWISE = [
    (2, 3, 1, 1, (7,), (1,), (2,), (0, 0), (1,)),
    (1, 2, 2, 1, (1031,), (3,), (1,), (2, 0), (2,)),
    (2, 2, 1, 1, (331,), (4,), (5,), (1, 2), (1,)),
    (1, 2, 3, 1, (3,), (2,), (1,), (13, 29), (3,)),
    (1, 5, 1, 1, (1, 37), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    (2, 3, 2, 1, (11, 83), (5, 5), (1, 1), (2, 2, 2, 2), (1, 1)),
    (1, 9, 1, 1, (41, 43), (5, 5), (2, 2), (2, 2, 2, 2), (1, 1)),
    (3, 2, 1, 1, (23, 96), (3, 3), (2, 1), (1, 1, 1, 1), (1, 1)),
    (1, 2, 4, 1, (6, 161), (3, 2), (1, 3), (0, 2, 1, 0), (2, 1)),
    (2, 2, 1, 1, (9, 90), (1, 3), (4, 7), (0, 0, 0, 5), (1, 1)),
    (1, 2, 1, 1, (12, 30), (3, 3), (3, 4), (0, 0, 0, 0), (5, 6)),
    (1, 2, 1, 1, (13, 90), (1, 41), (1, 1), (0, 3, 0, 4), (1, 1)),  # sums of one row of places in two parts
    (3, 2, 1, 1, (70, 1029), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),  # parts along rows and columns, and of the sums
    (2, 2, 1, 1, (5, 6, 19), (3, 2, 3), (2, 1, 1), (1, 0, 1, 2, 1, 0), (1, 3, 2)),
    (2, 2, 1, 1, (13, 15), (9, 8), (1, 1), (4, 3, 4, 5), (1, 1)),  # too many places for code of each
]


def arrays(rng, case, dtype):
    """Return dy, x, the shape of w, and the attributes."""
    batch, groups, filters, channels, sizes, kernel, strides, pads, dilations = case
    counts = window_references.counts_of(sizes, kernel, strides, pads, dilations)
    shapes = (batch, groups * filters, *counts), (batch, groups * channels, *sizes)
    dy, x = (rng.integers(-3, 4, shape).astype(dtype) for shape in shapes)
    given = {"strides": strides, "pads": pads, "dilations": dilations, "groups": groups}
    return dy, x, (groups * filters, channels, *kernel), given


def reference(dy, x, shape, strides, pads, dilations, groups):
    """Return the gradient in float64: a product of matrices for each place of a window."""
    num_axes, (batch, filters, *counts) = len(strides), dy.shape
    dy = dy.astype(np.float64).reshape(batch, groups, filters // groups, -1)
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *zip(pads[:num_axes], pads[num_axes:], strict=True)])
    result = np.empty(shape)
    for place in np.ndindex(shape[2:]):
        rows = (
            slice(at * far, at * far + (count - 1) * stride + 1, stride)
            for at, far, count, stride in zip(place, dilations, counts, strides, strict=True)
        )
        values = padded[(..., *rows)].reshape(batch, groups, shape[1], -1)
        result[(..., *place)] = np.einsum("bgfk,bgck->gfc", dy, values).reshape(shape[:2])
    return result


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("cases", [OF_ONE_GROUP, DEPTHWISE], ids=["groups", "depthwise"])
def test_sums_are_exact(rng, cases, dtype):
    dtype = as_data_type(dtype).dtype
    for case in cases if dtype == np.float32 else cases[::3]:
        dy, x, shape, given = arrays(rng, case, dtype)
        expected = reference(dy, x, shape, **given).astype(dtype)
        found = ops.conv_w_grad(dy, x, shape, **given)
        np.testing.assert_array_equal(found.astype(float), expected.astype(float), err_msg=str(case))


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize(
    "case", [OF_ONE_GROUP[2], OF_ONE_GROUP[6], OF_ONE_GROUP[7], DEPTHWISE[5], DEPTHWISE[12]], ids=str
)
def test_bits_do_not_depend_on_threads_or_on_the_memory_around_arrays(rng, case, num_threads):
    """NaN around dy and x would be seen in sums, and numbers around the result would change."""
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    threads = device.GetNumThreads()
    dy, x, shape, given = arrays(rng, case, np.float32)
    dy, x = (rng.standard_normal(each.shape, np.float32) for each in (dy, x))
    expected = ops.conv_w_grad(dy, x, shape, **given)
    np.testing.assert_allclose(expected, reference(dy, x, shape, **given), rtol=1e-4, atol=1e-4)
    inner = []
    for array, value in ((dy, np.nan), (x, np.nan), (expected, 7)):
        around = np.full(array.size + 200, value, np.float32)
        start = -around.ctypes.data % 64 // 4 + 64 + 4  # 16 bytes behind a line
        inner.append((around, around[start : start + array.size].reshape(array.shape)))
    (_, inner_dy), (_, inner_x), (around, out) = inner
    inner_dy[...], inner_x[...] = dy, x
    try:
        device.SetNumThreads(num_threads)
        ops.conv_w_grad(inner_dy, inner_x, shape, **given, out=out)
    finally:
        device.SetNumThreads(threads)
    np.testing.assert_array_equal(out, expected)
    assert np.count_nonzero(around == 7) == 200


@pytest.mark.parametrize("case", [OF_ONE_GROUP[0], DEPTHWISE[5], DEPTHWISE[7]], ids=str)
def test_what_is_not_finite_stays_in_its_products(rng, case):
    """Padding takes part in sums: 0 times infinity is NaN."""
    dy, x, shape, given = arrays(rng, case, np.float32)
    dy[0, 0, 0, 0], dy[0, 1, 3, 2], x[0, 0, -1, -1] = np.inf, -np.inf, np.nan
    with np.errstate(invalid="ignore"):
        expected = reference(dy, x, shape, **given)
    np.testing.assert_array_equal(ops.conv_w_grad(dy, x, shape, **given), expected.astype(np.float32))


def test_sums_of_many_products_are_accurate(rng):
    """Errors grow with the products that are added up one after the other: few of them, in parts."""
    for filters, channels, groups in ((32, 2, 1), (1, 1, 2)):
        dy, x = (1 + rng.random((2, groups * size, 250, 257), np.float32) for size in (filters, channels))
        shape, given = (groups * filters, channels, 3, 3), {"strides": (1, 1), "pads": (1,) * 4, "dilations": (1, 1)}
        found = ops.conv_w_grad(dy, x, shape, **given, groups=groups)
        np.testing.assert_allclose(found, reference(dy, x, shape, **given, groups=groups), rtol=5e-6)


def test_windows_that_are_far_apart(rng):
    for strides, pads, dilations in (
        ((70, 1), (70, 1, 69, 1), (1, 1)),
        ((3, 5), (100, 100, 100, 100), (100, 67)),
        ((100_000, 1), (100_000, 0, 100_001, 0), (1, 1)),
    ):
        dy, x, shape, given = arrays(rng, (1, 2, 1, 1, (5, 6), (2, 3), strides, pads, dilations), np.float32)
        found = ops.conv_w_grad(dy, x, shape, **given)
        np.testing.assert_array_equal(found, reference(dy, x, shape, **given))


def product(data_type):
    transposes = BlasTransposeType.N, BlasTransposeType.T
    return RequirePrimitive(BroadcastMatmulFactory, DeviceType.kCPU, data_type, *transposes, 3)


def test_the_launch_of_a_product_by_planes(rng):
    sums = product("float32").over_planes(PlaneWindows(6, (9, 7), (4, 3), (3, 3), (2, 2), (0, 0), (1, 1)), 3, 2)
    dy, x = (rng.integers(-3, 4, size).astype(np.float32) for size in (144, 378))
    out, stream = np.empty(54, np.float32), DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    sums(stream, dy, x, out)
    given = (2, 2), (0,) * 4, (1, 1), 3
    expected = reference(dy.reshape(2, 6, 4, 3), x.reshape(2, 3, 9, 7), (6, 1, 3, 3), *given)
    np.testing.assert_array_equal(out, expected.reshape(-1))
    for arguments, message in (((dy[1:], x, out), "a has 143 elements"), ((dy, x, x[:54]), "overlaps")):
        with pytest.raises(ValueError, match=message):
            sums(stream, *arguments)
    many = PlaneWindows(1, (99,), (1,), (99,), (1,), (0,), (1,))
    assert product("float32").over_planes(many, 1, 1) is None
    assert product("complex64").over_planes(PlaneWindows(1, (1,), (1,), (1,), (1,), (0,), (1,)), 1, 1) is None


def test_the_launch_of_a_product_by_transposed_windows(rng):
    """A map may have any offsets."""
    m, n, k, size = 37, 29, 301, 997
    places = WindowMap(rng.integers(0, 400, n), rng.integers(0, size - 400, k), 1, size, (0,))
    multiply = product("float32").over_windows((1, m, k), places, (1, m, n))
    a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((m, k), size))
    c, stream = np.empty((m, n), np.float32), DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    multiply(stream, a, b, c)
    np.testing.assert_array_equal(c, a @ b[np.add.outer(places.rows, places.columns)].T)
    with pytest.raises(ValueError, match="b has 996 elements"):
        multiply(stream, a, b[1:], c)
    for data_type, rows, is_written in (
        ("float32", 16, True),
        ("float32", 17, False),
        ("float64", 8, True),
        ("float64", 9, False),
        ("float16", 17, True),
        ("complex64", 17, True),
    ):
        found = product(data_type).over_windows((1, rows, k), places, (1, rows, n))
        assert (found is None) == is_written, data_type
