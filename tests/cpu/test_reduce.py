"""The reduce engine: sums of rows, right to a few ulps, with the same bits on any number of threads."""

import functools
import math

import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType
from ep.common.functor.reduction import SUM, Reduction
from ep.common.primitive.signature import Signature, reads, writes
from ep.cpu.engine.reduce.state import BLOCK, MAX_SEGMENTS, segment_length
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include import DataType
from ep.include.primitive.primitive import Primitive, Request
from ep.testing.ulps import errors_in_ulps

T = DataType


class RowReduction(CpuPrimitive, Primitive):
    """dst[row] = reduction of src[row]."""

    signature = Signature((reads("src", 0, "rows", "cols"), writes("dst", 1, "rows")), sizes=("rows", "cols"))

    def __init__(self, reduction, src_type, dst_type):
        self._reduction = reduction
        super().__init__(Request(RowReduction, None, (src_type, dst_type)))

    def _compile(self):
        from ep.cpu.engine.reduce.entry import reduce_entry
        from ep.cpu.engine.reduce.rows import reduce_kernel

        return reduce_entry("sum_rows", self.signature, self._state, reduce_kernel(self._reduction, *self._types))

    def Launch(self, stream, src, dst, rows, cols):
        if self._entry(self._words, rows, cols, src, dst):
            self._launch_checked(stream, (rows, cols), (), (src, dst))


@functools.cache
def row_sum(src_type, dst_type=None):
    return RowReduction(SUM, src_type, dst_type or src_type)


def launch(primitive, src, dst_type, threads=2):
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    before = device.GetNumThreads()
    device.SetNumThreads(threads)
    try:
        dst = np.full(len(src) + 1, 77, dst_type.dtype)
        primitive.Launch(device.CreateStream(), src, dst[:-1], *src.shape)
        assert dst[-1] == 77
        return dst[:-1]
    finally:
        device.SetNumThreads(before)


SHAPES = [
    (1, 1),
    (3, 2),
    (5, 7),
    (1, 255),
    (2, 257),
    (70, 300),
    (3, BLOCK),
    (2, BLOCK + 1),
    (67, 3 * BLOCK - 5),
    (2, 1_000_003),
]


def exact(src):
    return np.array([math.fsum(row.astype(np.float64).tolist()) for row in src], np.longdouble)


@pytest.mark.parametrize(("data_type", "bound"), [(T.kFloat, 0.51), (T.kDouble, 3)], ids=["kFloat", "kDouble"])
def test_positive_numbers(rng, data_type, bound):
    for shape in SHAPES:
        src = rng.random(shape).astype(data_type.dtype)
        assert errors_in_ulps(launch(row_sum(data_type), src, data_type), exact(src)).max() <= bound, shape


def test_numbers_that_cancel(rng):
    """The error is a few roundings of the largest partial sum."""
    src = rng.normal(size=(3, 100_001))
    got = launch(row_sum(T.kDouble), src, T.kDouble)
    assert (np.abs(got - exact(src).astype(np.float64)) <= 2**-53 * 20 * np.abs(src).sum(axis=1)).all()


def test_special_numbers():
    src = np.ones((5, 5000), np.float32)
    src[0, 4999], src[1, 17], src[2, [5, 4500]], src[3] = np.nan, np.inf, (np.inf, -np.inf), -0.0
    got = launch(row_sum(T.kFloat), src, T.kFloat)
    assert np.isnan(got[[0, 2]]).all()
    assert got[1] == np.inf
    assert got[3] == 0
    assert np.signbit(got[3])
    assert got[4] == 5000


@pytest.mark.parametrize("data_type", [T.kInt32, T.kInt8, T.kUInt64, T.kBool], ids=lambda t: t.name)
def test_whole_numbers_wrap_around(rng, data_type):
    for shape in SHAPES:
        src = rng.integers(0, 256, (*shape, data_type.itemsize), np.uint8).view(data_type.dtype)[..., 0]
        if data_type is T.kBool:
            src = np.ascontiguousarray(src.view(np.uint8) & 1).view(np.bool_)
        src, dst_type = np.ascontiguousarray(src), T.kInt64 if data_type is T.kBool else data_type
        with np.errstate(all="ignore"):
            expected = src.sum(axis=1, dtype=dst_type.dtype)
        assert (launch(row_sum(data_type, dst_type), src, dst_type) == expected).all(), shape


@pytest.mark.parametrize("shape", [(1, 3_000_001), (3, 500_001), (200, 9001), (5000, 129)])
def test_any_number_of_threads_gives_the_same_bits(rng, shape):
    src = rng.normal(size=shape)
    bits = {launch(row_sum(T.kDouble), src, T.kDouble, threads).tobytes() for threads in (1, 2, 3, 7)}
    assert len(bits) == 1
    # nor does it matter how many rows there are
    assert launch(row_sum(T.kDouble), src[:1], T.kDouble).tobytes() == bits.pop()[:8]


def test_functors_before_and_after(rng):
    """The largest magnitude as a share of 100, of float32."""

    magnitude, larger, share = (
        (lambda x: abs(x)),
        (lambda a, b: a if a > b else b),
        (lambda value, count: value / count),
    )
    makers = [lambda m, function=function: function for function in (magnitude, larger, share)]
    primitive = RowReduction(Reduction("largest", lambda m: lambda: 0.0, *makers), T.kFloat, T.kDouble)
    for shape in ((3, 5), (70, 4099), (2, 300_001)):
        src = rng.normal(size=shape).astype(np.float32)
        expected = np.abs(src).max(axis=1).astype(np.float64) / shape[1]
        assert (launch(primitive, src, T.kDouble) == expected).all()


def test_every_row_fits_its_segments():
    for cols in (1, BLOCK, BLOCK + 1, BLOCK * MAX_SEGMENTS, BLOCK * MAX_SEGMENTS + 1, 2**40 + 1):
        length = segment_length(cols)
        assert length % BLOCK == 0
        assert -(-cols // length) <= MAX_SEGMENTS


def test_wrong_buffers_are_refused():
    primitive, src = row_sum(T.kFloat), np.ones((3, 4), np.float32)
    on = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    with pytest.raises(ValueError, match=r"src has 12 elements; at least 15 are needed"):
        primitive.Launch(on, src, np.ones(3, np.float32), 3, 5)
    with pytest.raises(ValueError, match=r"dst overlaps src"):
        primitive.Launch(on, src, src.reshape(-1), 3, 4)
    with pytest.raises(ValueError, match=r"dst is the memory of src, which this launch cannot work in"):
        primitive.Launch(on, src, src.reshape(-1), 12, 1)
