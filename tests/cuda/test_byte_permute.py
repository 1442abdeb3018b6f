"""Moves of bytes by words of four, which are of one row or of two: all strides, alignments and places in a row."""

import numpy as np
import pytest

from ep import DeviceType
from ep.cuda.compile.launch_config import LONG_ROW
from ep.cuda.engine.move import pad_plan
from ep.cuda.engine.move import plan as move_plan
from ep.include import DataType
from ep.include.primitive import ConstantPadFactory, CopyNdFactory, ExpandFactory
from ep.testing.device_under_test import DeviceUnderTest, address
from tests.cuda.ptx_machine.layout import Access
from tests.cuda.ptx_machine.trace import Trace

COLUMNS = [2, 3, 4, 5, 7, 11, LONG_ROW - 1, LONG_ROW + 1, 2 * LONG_ROW + 3]


@pytest.fixture
def gpu(cuda):
    return DeviceUnderTest(DeviceType.kCUDA)


@pytest.fixture(params=[32, 64])
def bits(request, monkeypatch):
    """The bits of the arithmetic of offsets."""
    if request.param == 64:
        for module in (move_plan, pad_plan):
            monkeypatch.setattr(module, "fits_32_bit_offsets", lambda *counts: False)


def random_bytes(rng, *dims):
    return rng.integers(0, 256, dims, dtype=np.uint8)


def guarded(gpu, count):
    """Return a buffer of `count` bytes and a function that returns them, and checks that none after them changed."""
    buffer = gpu.filled(count + 5, DataType.kUInt8)

    def result(dims):
        found = gpu.array(buffer)
        assert set(found[count:]) == {0xA5}
        return found[:count].reshape(dims)

    return buffer, result


@pytest.fixture
def reads_within(cuda, gpu):
    """Return `launch(src, begin, end, function, *args)`: checks that all reads are of bytes [begin, end) of src."""

    def launch(src, begin, end, function, *args):
        if not cuda.driver.loads_ptx:  # the accesses are not known
            function(gpu.stream, *args)
            return
        cuda.driver.trace = trace = Trace()
        try:
            function(gpu.stream, *args)
            gpu.stream.Sync()
        finally:
            cuda.driver.trace = None
        places, sizes = trace.records[trace.records[:, 5] & Access.READ != 0, 3:5].T
        assert places.min() >= address(src) + begin
        assert (places + sizes).max() <= address(src) + end

    return launch


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("kept", [(0, 2), (1, 2), (1,)], ids=str)
def test_expand(gpu, rng, reads_within, bits, columns, kept):
    dims = (3, 5, columns)
    src = random_bytes(rng, *(size if axis in kept else 1 for axis, size in enumerate(dims)))
    dst, result = guarded(gpu, 15 * columns)
    expand, given = gpu.require(ExpandFactory, "uint8", 3), gpu.buffer(src)
    reads_within(given, 0, src.size, expand.Launch, src.shape, given, dims, dst)
    np.testing.assert_array_equal(result(dims), np.broadcast_to(src, dims))


@pytest.mark.parametrize("columns", COLUMNS)
def test_expand_with_strides(gpu, rng, bits, columns):
    src = random_bytes(rng, 5, 2 * columns + 1)
    dst, result = guarded(gpu, 5 * columns)
    expand, dims = gpu.require(ExpandFactory, "uint8", 2), (5, columns)
    expand.Launch(gpu.stream, dims, gpu.buffer(src), dims, dst, src_strides=(2 * columns + 1, 2))
    np.testing.assert_array_equal(result(dims), src[:, : 2 * columns : 2])


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("begin", range(4))
def test_copies_of_boxes(gpu, rng, reads_within, columns, begin):
    src, dims = random_bytes(rng, 7, columns + begin), (6, columns)
    dst, result = guarded(gpu, 6 * columns)
    copy, given = gpu.require(CopyNdFactory, 2), gpu.buffer(src)
    box = (given, columns + 2 * begin, src.size)
    reads_within(*box, copy.Launch, "uint8", dst, dims, (0, 0), given, src.shape, (1, begin), dims)
    np.testing.assert_array_equal(result(dims), src[1:, begin:])


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("before", [(1, 0, 1), (0, 2, 0), (0, -1, -1), (-1, 1, 3)], ids=str)
def test_pads(gpu, rng, reads_within, bits, columns, before):
    src, after = random_bytes(rng, 2, 3, columns), (1, 0, 2)
    want = np.full([size + sum(ends) for size, *ends in zip(src.shape, before, after, strict=True)], 7, np.uint8)
    cut = src[tuple(slice(max(-begin, 0), None) for begin in before)]
    want[tuple(slice(max(at, 0), max(at, 0) + size) for at, size in zip(before, cut.shape, strict=True))] = cut
    dst, result = guarded(gpu, want.size)
    pad, given = gpu.require(ConstantPadFactory, "uint8"), gpu.buffer(src)
    reads_within(given, 0, src.size, pad.Launch, src.shape, given, before, after, 7, dst)
    np.testing.assert_array_equal(result(want.shape), want)


@pytest.mark.parametrize("size", [4, 10, 11, 12, 29, 130])
@pytest.mark.parametrize("ends", [(1, 0), (2, 5), (3, -2), (-1, 3), (-3, 0)], ids=str)
def test_pads_of_vectors(gpu, rng, reads_within, bits, size, ends):
    src, (before, after) = random_bytes(rng, size), ends
    want = np.pad(src, (max(before, 0), max(after, 0)), constant_values=7)[max(-before, 0) :]
    want = want[: size + before + after]
    dst, result = guarded(gpu, want.size)
    pad, given = gpu.require(ConstantPadFactory, "uint8"), gpu.buffer(src)
    reads_within(given, 0, size, pad.Launch, (size,), given, (before,), (after,), 7, dst)
    np.testing.assert_array_equal(result(want.shape), want)
