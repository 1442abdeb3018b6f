"""Convolutions whose product reads windows in place: they have the same bits as with windows that are written out."""

import math

import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, ops
from ep.include.data_type import as_data_type
from ep.include.primitive import BlasTransposeType, BroadcastMatmulFactory, RequirePrimitive
from ep.include.primitive.window_map import WindowMap

CASES = [
    # sizes, kernel, strides, pads, dilations
    ((19,), (3,), (1,), (1, 1), (1,)),
    ((53,), (5,), (2,), (0, 3), (2,)),
    ((40,), (2,), (3,), (0, 0), (1,)),
    ((7, 9), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    ((31, 18), (7, 7), (2, 2), (3, 3, 2, 3), (1, 1)),
    ((13, 11), (1, 1), (2, 2), (0, 0, 0, 0), (1, 1)),
    ((17, 12), (3, 2), (1, 3), (0, 2, 1, 0), (2, 1)),
    ((5, 6, 7), (2, 3, 2), (1, 2, 1), (1, 0, 1, 0, 1, 0), (1, 1, 2)),
    # rows longer than a strip of columns, for each step that is read in vectors, and for a longer one
    ((7, 161), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    ((5, 230), (9, 9), (1, 2), (4, 3, 4, 5), (1, 1)),
    ((3, 311), (2, 5), (2, 3), (0, 1, 1, 2), (1, 2)),
    ((2, 409), (1, 3), (1, 4), (0, 2, 0, 0), (1, 1)),
    ((331,), (4,), (5,), (1, 2), (1,)),
    ((3, 5, 103), (2, 1, 3), (1, 1, 1), (1, 0, 2, 0, 1, 0), (1, 1, 1)),
]


@pytest.mark.parametrize("filters", [19, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: "x".join(map(str, case[1])))
def test_windows_are_read_as_if_they_were_written(rng, case, dtype, filters):
    sizes, kernel, strides, pads, dilations = case
    groups, channels = 2, 3
    x = rng.standard_normal((2, groups * channels, *sizes)).astype(dtype)
    w = rng.standard_normal((groups * filters, channels, *kernel)).astype(dtype)
    given = {"strides": strides, "pads": pads, "dilations": dilations}
    found = ops.conv(x, w, groups=groups, **given)
    written = ops.unfold(x, kernel, **given)
    columns = written.reshape(2, groups, channels * math.prod(kernel), -1)
    expected = ops.matmul(w.reshape(1, groups, filters, -1), columns)
    np.testing.assert_array_equal(found, expected.reshape(found.shape))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_one_filter_in_parts(rng, dtype):
    """Few windows of many places: sums are cut, and added up in the order of the same product of a written matrix."""
    x, w = rng.standard_normal((1, 601, 9, 9)).astype(dtype), rng.standard_normal((1, 601, 3, 3)).astype(dtype)
    columns = ops.unfold(x, (3, 3), pads=1).reshape(601 * 9, 81)
    found = ops.conv(x, w, pads=1)
    np.testing.assert_array_equal(found.reshape(1, 81), ops.matmul(w.reshape(1, -1), columns))
    exact = w.reshape(1, -1).astype(np.float64) @ columns.astype(np.float64)
    np.testing.assert_allclose(found.reshape(1, 81), exact, atol=1e-3 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("filters", [17, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_nothing_outside_is_read_or_written(rng, dtype, filters):
    """NaN around x would be seen in results, and numbers around the result would change."""
    dtype = as_data_type(dtype).dtype
    for sizes, kernel, stride, pad in (((9, 97), (3, 3), 1, 1), ((6, 193), (2, 3), 2, 0), ((200,), (3,), 3, 2)):
        x, w = (
            rng.standard_normal((2, 3, *sizes)).astype(dtype),
            rng.standard_normal((filters, 3, *kernel)).astype(dtype),
        )
        expected = ops.conv(x, w, strides=stride, pads=pad)
        around_x, around = np.full(x.size + 200, np.nan, dtype), np.full(expected.size + 200, 7, dtype)
        inner_x, inner = around_x[100:-100].reshape(x.shape), around[100:-100].reshape(expected.shape)
        inner_x[...] = x
        ops.conv(inner_x, w, strides=stride, pads=pad, out=inner)
        np.testing.assert_array_equal(inner, expected)
        assert np.isfinite(expected.astype(np.float32)).all()
        assert (around[:100] == 7).all()
        assert (around[-100:] == 7).all()


@pytest.mark.parametrize("m", [11, 1])
def test_windows_that_are_no_windows(rng, m):
    """A map may have any offsets; all columns of the last strip are within the array."""
    k, n, size = 37, 101, 997
    matmul = RequirePrimitive(
        BroadcastMatmulFactory, DeviceType.kCPU, "float32", BlasTransposeType.N, BlasTransposeType.N, 3
    )
    places = WindowMap(rng.integers(0, 500, k), rng.integers(0, size - 500, n), 1, size, (0,))
    multiply = matmul.over_windows((1, m, k), places, (1, m, n))
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal(size, np.float32)
    c = np.empty((m, n), np.float32)
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    multiply(stream, a, b, c)
    np.testing.assert_allclose(c, a @ b[np.add.outer(places.rows, places.columns)], rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="b has 996 elements"):
        multiply(stream, a, b[1:], c)


def test_few_columns_a_row_of_windows_that_are_far_apart_and_complex_numbers_are_written_out():
    transposes = BlasTransposeType.N, BlasTransposeType.N
    for data_type, m, n, step, is_written in (
        ("float32", 1, 32, 1, True),
        ("float32", 1, 33, 4, False),
        ("float32", 1, 33, 5, True),
        ("float32", 11, 33, 5, False),
        ("float64", 1, 16, 1, True),
        ("float64", 1, 17, 1, False),
        ("float32", 11, 8, 1, True),
        ("complex64", 11, 20, 1, True),
    ):
        places = WindowMap(np.zeros(2, np.int64), np.zeros(n, np.int64), step, 1, (0,))
        matmul = RequirePrimitive(BroadcastMatmulFactory, DeviceType.kCPU, data_type, *transposes, 3)
        assert (matmul.over_windows((1, m, 2), places, (1, m, n)) is None) == is_written


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_arrays_with_few_windows_are_multiplied_together(rng, dtype):
    """All arrays of a batch give the columns of one product for each group; each array alone has the same results."""
    dtype = as_data_type(dtype).dtype
    for sizes, kernel, groups, filters in (
        ((9,), (3,), 1, 19),
        ((5, 6), (3, 2), 2, 7),
        ((7,), (1,), 3, 2),
        ((4,), (4,), 1, 1),
    ):
        x = rng.standard_normal((23, 2 * groups, *sizes)).astype(dtype)
        w = rng.standard_normal((groups * filters, 2, *kernel)).astype(dtype)
        found = ops.conv(x, w, groups=groups, strides=2)
        for k in range(len(x)):
            alone = ops.conv(x[k : k + 1], w, groups=groups, strides=2)[0]
            np.testing.assert_allclose(
                found[k].astype(float), alone.astype(float), rtol=1e-2 if dtype.itemsize == 2 else 1e-5, atol=1e-5
            )
