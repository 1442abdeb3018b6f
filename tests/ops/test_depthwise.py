"""Depthwise convolutions on the CPU, whose windows are read in place: tiles, parts of planes, and memory around arrays.

Numbers are small integers, so that sums are exact in any order.
"""

import sys

import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, ops
from ep.cpu.machine.calibration import everywhere
from ep.include.data_type import as_data_type
from ep.include.primitive import BlasTransposeType, BroadcastMatmulFactory, RequirePrimitive
from ep.include.primitive.plane_windows import PlaneWindows

CASES = [
    # sizes, kernel, strides, pads, dilations
    ((7,), (1,), (1,), (0, 0), (1,)),
    ((1031,), (3,), (1,), (2, 0), (2,)),
    ((331,), (4,), (5,), (1, 2), (1,)),
    ((3,), (2,), (1,), (13, 29), (3,)),
    ((1, 37), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
    ((11, 83), (5, 5), (1, 1), (2, 2, 2, 2), (1, 1)),
    ((41, 43), (5, 5), (2, 2), (2, 2, 2, 2), (1, 1)),
    ((23, 96), (3, 3), (2, 1), (1, 1, 1, 1), (1, 1)),
    ((6, 161), (3, 2), (1, 3), (0, 2, 1, 0), (2, 1)),
    ((9, 90), (1, 3), (4, 7), (0, 0, 0, 5), (1, 1)),
    ((13, 11), (9, 8), (1, 1), (4, 3, 4, 5), (1, 1)),
    ((12, 30), (3, 3), (3, 4), (0, 0, 0, 0), (5, 6)),
    ((70, 1029), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),  # parts along rows and along columns
    ((5, 6, 19), (3, 2, 3), (2, 1, 1), (1, 0, 1, 2, 1, 0), (1, 3, 2)),
]
SMALL = [  # planes whose vectors of sums go over the ends of rows, if there are several planes
    ((13, 11), (5, 3), (1, 1), (2, 1, 2, 1), (1, 1)),
    ((19, 21), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1)),
    ((7, 5), (3, 5), (1, 1), (0, 3, 1, 2), (2, 1)),
    ((10, 9), (3, 2), (3, 2), (4, 5, 0, 2), (1, 3)),
    ((7, 23), (1, 1), (4, 3), (0, 0, 0, 0), (1, 1)),
    ((5, 6), (2, 3), (1, 1), (3, 20, 40, 1), (7, 5)),
]
NUM_CHANNELS = 5


def integers(rng, shape, dtype):
    return rng.integers(-3, 4, shape).astype(dtype)


def reference(x, w, strides, pads, dilations):
    """Return the sums in float64: one product for each place of a window."""
    num_axes, filters = len(strides), len(w) // x.shape[1]
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *zip(pads[:num_axes], pads[num_axes:], strict=True)])
    padded, each = padded.repeat(filters, 1), [*zip(padded.shape[2:], strides, dilations, w.shape[2:], strict=True)]
    ends = [size - far * (places - 1) for size, _, far, places in each]
    result = 0
    for place in np.ndindex(w.shape[2:]):
        rows = (
            slice(at * far, at * far + end, stride)
            for at, end, (_, stride, far, _) in zip(place, ends, each, strict=True)
        )
        of_place = w[(slice(None), 0, *place)].astype(np.float64)
        result = result + padded[(..., *rows)] * of_place.reshape(-1, *[1] * num_axes)
    return result


@pytest.mark.parametrize(
    ("dtype", "cases", "channels"),
    [
        ("float32", CASES, 3),
        ("float64", CASES[4:8], 3),
        ("float16", CASES[5:9], 3),
        ("bfloat16", CASES[8:11], 3),
        *((dtype, [*CASES[:5], *SMALL], NUM_CHANNELS) for dtype in ("float32", "float64", "float16", "bfloat16")),
    ],
)
def test_sums_are_exact(rng, dtype, cases, channels):
    dtype = as_data_type(dtype).dtype
    for number, (sizes, kernel, *given) in enumerate(cases):
        filters = 1 + number % 2
        x, w = integers(rng, (2, channels, *sizes), dtype), integers(rng, (channels * filters, 1, *kernel), dtype)
        found = ops.conv(x, w, None, *given, groups=channels)
        expected = reference(x, w, *given).astype(dtype)
        np.testing.assert_array_equal(found.astype(float), expected.astype(float), err_msg=str(sizes))


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("shift", [0, 3, 16])
def test_all_ways_to_write_have_the_same_bits(rng, num_threads, shift):
    """Also with non-temporal stores; NaN around x would be seen in sums, and numbers around them would change."""
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    threads = device.GetNumThreads()
    for batch, (sizes, kernel, *given) in ((1, CASES[5]), (1, CASES[12]), (17, SMALL[0]), (17, SMALL[1])):
        x, w = (rng.standard_normal(shape, np.float32) for shape in ((batch, 2, *sizes), (4, 1, *kernel)))
        expected = ops.conv(x, w, None, *given, groups=2)
        around_x, around = np.full(x.size + 200, np.nan, np.float32), np.full(expected.size + 200, 7, np.float32)
        start = -around.ctypes.data % 64 // 4 + 64 + shift
        inner_x, inner = around_x[100:-100].reshape(x.shape), around[start : start + expected.size]
        inner_x[...] = x
        try:
            device.SetNumThreads(num_threads)
            device.force_calibration(everywhere(0))
            ops.conv(inner_x, w, None, *given, groups=2, out=inner.reshape(expected.shape))
        finally:
            device.force_calibration(None)
            device.SetNumThreads(threads)
        np.testing.assert_array_equal(inner, expected.reshape(-1))
        assert np.isfinite(expected).all()
        assert (around[:start] == 7).all()
        assert (around[start + expected.size :] == 7).all()


@pytest.mark.parametrize(("kernel", "batch", "columns"), [((3, 5), 1, 83), ((9, 8), 1, 83), ((3, 5), 4, 23)], ids=str)
def test_what_is_not_finite_stays_in_its_windows(rng, kernel, batch, columns):
    """Padding takes part in sums: 0 times infinity is NaN, in all columns whose windows have padding there."""
    x, w = integers(rng, (batch, 2, 12, columns), np.float32), integers(rng, (2, 1, *kernel), np.float32)
    x[0, 0, 6, columns // 2], w[1, 0, 0, 0] = np.nan, np.inf
    given = (1, 1), (1, 2, 1, 2), (1, 1)
    with np.errstate(invalid="ignore"):
        expected = reference(x, w, *given)
    np.testing.assert_array_equal(ops.conv(x, w, None, *given, groups=2), expected.astype(np.float32))


def test_windows_that_are_far_apart(rng):
    """Their parts of planes would need more memory than there is; some take another way."""
    x, w = integers(rng, (1, 2, 5, 6), np.float32), integers(rng, (2, 1, 2, 3), np.float32)
    for strides, pads, dilations in (
        ((1 << 40, sys.maxsize), (0, 0, 0, 0), (1, 1)),
        ((70, 1), (70, 1, 69, 1), (1, 1)),
        ((3, 5), (100, 100, 100, 100), (100, 67)),
        ((100_000, 1), (100_000, 0, 100_001, 0), (1, 1)),
    ):
        found = ops.conv(x, w, None, strides, pads, dilations, groups=2)
        expected = reference(x, w, [min(stride, 10**6) for stride in strides], pads, dilations)
        np.testing.assert_array_equal(found, expected.astype(np.float32))


def test_the_launch_of_a_product_over_planes(rng):
    options = "float32", BlasTransposeType.N, BlasTransposeType.N, 3
    matmul = RequirePrimitive(BroadcastMatmulFactory, DeviceType.kCPU, *options)
    sums = matmul.over_planes(PlaneWindows(6, (9, 7), (4, 3), (3, 3), (2, 2), (0, 0), (1, 1)), 3, 2)
    w, x, out = integers(rng, 54, np.float32), integers(rng, 378, np.float32), np.empty(144, np.float32)
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    sums(stream, w, x, out)
    expected = reference(x.reshape(2, 3, 9, 7), w.reshape(6, 1, 3, 3), (2, 2), (0,) * 4, (1, 1))
    np.testing.assert_array_equal(out, expected.reshape(-1))
    for arguments, message in (((w[1:], x, out), "a has 53 elements"), ((w, x, x[:144]), "overlaps")):
        with pytest.raises(ValueError, match=message):
            sums(stream, *arguments)
    complex_product = RequirePrimitive(BroadcastMatmulFactory, DeviceType.kCPU, "complex64", *options[1:])
    assert complex_product.over_planes(PlaneWindows(1, (1,), (1,), (1,), (1,), (0,), (1,)), 1, 1) is None
