"""The map engine: operands of any dims and strides, blocks of transposed ones, and any number of threads."""

import math

import numpy as np
import pytest

from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.common.primitive.strides import extent
from ep.cpu.engine.map import plan
from ep.include import DataType
from ep.include.primitive import (
    BroadcastElementwiseBinaryFactory,
    BroadcastElementwiseUnaryFactory,
    WhereFactory,
)

T = DataType


def stream():
    return DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()


def of_operands(count, data_type):
    """Return a function (dims of the operands, operands, dst) that launches a primitive of `count` operands."""
    on, of = stream(), DeviceType.kCPU
    if count == 3:
        where = RequirePrimitive(WhereFactory, of, T.kBool, data_type, 8)
        return lambda dims, sources, dst: where.Launch(
            on, dims[0], sources[0] != 0, dims[1], sources[1], dims[2], sources[2], dst
        )
    if count == 2:
        sub = RequirePrimitive(BroadcastElementwiseBinaryFactory, of, BinaryOp.kSub, data_type, data_type, 8)
        return lambda dims, sources, dst: sub.Launch(on, dims[0], sources[0], dims[1], sources[1], dst)
    absolute = RequirePrimitive(BroadcastElementwiseUnaryFactory, of, UnaryOp.kAbs, data_type, data_type, 8)
    return lambda dims, sources, dst: absolute.Launch(on, dims[0], sources[0], dims[0], dst)


EXPECTED = {1: np.abs, 2: np.subtract, 3: lambda c, a, b: np.where(c != 0, a, b)}


def random_dims(rng, num_axes, count):
    """Return the dims of `count` operands that broadcast to the same dims of `num_axes` axes."""
    dims = tuple(int(size) for size in rng.integers(1, 4 if num_axes > 4 else 9, num_axes))
    if num_axes and rng.random() < 0.5:
        dims = (*dims[:-1], int(rng.integers(16, 70)))
    operands = []
    for _ in range(count):
        kept = tuple(size if rng.random() < 0.6 else 1 for size in dims)
        operands.append(kept[int(rng.integers(0, num_axes + 1)) if rng.random() < 0.3 else 0 :])
    return tuple(operands)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("data_type", [T.kInt32, T.kDouble], ids=lambda t: t.name)
def test_every_walk(rng, count, data_type):
    launch = of_operands(count, data_type)
    for num_axes in range(9):
        for _ in range(6):
            dims = random_dims(rng, num_axes, count)
            sources = [rng.integers(-3, 4, each).astype(data_type.dtype) for each in dims]
            result = np.broadcast_shapes(*dims)
            dst = np.full(math.prod(result) + 1, 77, data_type.dtype)
            launch(dims, sources, dst[:-1])
            assert dst[-1] == 77
            assert (dst[:-1] == np.broadcast_to(EXPECTED[count](*sources), result).reshape(-1)).all(), dims


@pytest.mark.parametrize("threads", [1, 3])
def test_large_walks_on_threads(rng, threads):
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    before = device.GetNumThreads()
    device.SetNumThreads(threads)
    try:
        dims = (300, 1, 7), (1, 401, 1), (300, 401, 7)
        sources = [rng.integers(-1, 9, each).astype(np.int32) for each in dims]
        dst = np.zeros((300, 401, 7), np.int32)
        of_operands(3, T.kInt32)(dims, sources, dst)
        assert (dst == EXPECTED[3](*sources)).all()
    finally:
        device.SetNumThreads(before)


@pytest.mark.parametrize("strides", [(400, 80, 2), (37, 0, 1), (1, 5, 15), (0, 0, 3)])
def test_strides_on_both_sides(rng, strides):
    """Memory between the elements of dst stays unchanged."""
    primitive = RequirePrimitive(BroadcastElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kAbs, T.kInt32, T.kInt32, 4)
    dims, dst_strides = (5, 3, 37), (500, 120, 3)
    src, dst = (rng.integers(-9, 9, extent(dims, steps)).astype(np.int32) for steps in (strides, dst_strides))
    expected = dst.copy()
    view, at = (
        np.lib.stride_tricks.as_strided(buffer, dims, [4 * step for step in steps])
        for buffer, steps in ((src, strides), (expected, dst_strides))
    )
    at[...] = np.abs(view)
    primitive.Launch(stream(), dims, src, dims, dst, strides, dst_strides)
    assert (dst == expected).all()


BLOCKED = [(T.kInt8, T.kFloat), (T.kDouble, T.kFloat), (T.kFloat, T.kInt8), (T.kComplex128, T.kComplex64)]


@pytest.mark.parametrize("scattered_from", [0, 2**62])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("types", BLOCKED, ids=str)
def test_blocks_of_a_transposed_operand(rng, monkeypatch, types, threads, scattered_from):
    """Test blocks cut at the ends of axes and of the ranges of threads, with and without gaps in dst."""
    monkeypatch.setattr(plan, "scattered_from", lambda: scattered_from)
    src_type, dst_type = types
    device, cast = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0), (UnaryOp.kCast, src_type, dst_type)
    primitive = RequirePrimitive(BroadcastElementwiseUnaryFactory, DeviceType.kCPU, *cast, 4)
    before = device.GetNumThreads()
    device.SetNumThreads(threads)
    try:
        for dims, permutation in (
            ((16, 17), (1, 0)),
            ((131, 1030), (1, 0)),
            ((5, 33, 129), (0, 2, 1)),
            ((33, 5, 130), (2, 1, 0)),
            ((3, 16, 20_001), (0, 2, 1)),
            ((7, 20, 3, 64), (3, 2, 1, 0)),
        ):
            src = rng.integers(-99, 99, dims).astype(src_type.dtype)
            expected = src.transpose(permutation).astype(dst_type.dtype)
            dims = expected.shape
            src_strides = [step // src.itemsize for step in src.transpose(permutation).strides]
            for gap in (0, 5):
                dst_strides = [1]
                for size in dims[:0:-1]:
                    dst_strides.insert(0, dst_strides[0] * size + gap)
                memory = np.full(extent(dims, dst_strides) + 2, 77, dst_type.dtype)
                primitive.Launch(stream(), dims, src, dims, memory[1:-1], src_strides, dst_strides)
                steps = [memory.itemsize * step for step in dst_strides]
                written = np.lib.stride_tricks.as_strided(memory[1:], dims, steps)
                assert (written == expected).all(), (dims, gap)
                written[...] = 77
                assert (memory == 77).all()
    finally:
        device.SetNumThreads(before)
