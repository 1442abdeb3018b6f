"""The choice of the kernels' variants, and the variants that small aligned data does not use."""

import threading

import numpy as np
import pytest

from ep import BinaryOp, DeviceType, RequirePrimitive, UnaryOp
from ep.cuda.compile.kernel_words import num_walk_words, walk_words
from ep.cuda.compile.launch_config import num_blocks
from ep.cuda.engine.map import plan as map_plan
from ep.cuda.engine.map.access import Access, Variant
from ep.cuda.engine.move import gather_plan, pad_plan, tile
from ep.cuda.engine.move import plan as move_plan
from ep.include import DataType
from ep.include.primitive import (
    BatchGatherFactory,
    BroadcastElementwiseBinaryFactory,
    ConstantPadFactory,
    CopyNdFactory,
    ElementwiseUnaryFactory,
    ExpandFactory,
    PermuteFactory,
)
from ep.testing.device_under_test import DeviceUnderTest

ADD = (BinaryOp.kAdd, DataType.kFloat, DataType.kFloat)


@pytest.fixture
def gpu(cuda):
    """The device, with the helper functions that a test needs."""
    return DeviceUnderTest(DeviceType.kCUDA)


@pytest.fixture
def in_64_bits(monkeypatch):
    """Make all launches compute indices in 64 bits."""
    for module in (map_plan, move_plan, tile, pad_plan, gather_plan):
        monkeypatch.setattr(module, "fits_32_bit_offsets", lambda *counts: False)


def test_index_arithmetic_in_64_bits(gpu, in_64_bits):
    a, b = np.arange(60, dtype=np.float32).reshape(3, 4, 5), np.arange(4, dtype=np.float32).reshape(4, 1) * 100
    dst = gpu.empty(60, DataType.kFloat)
    add = RequirePrimitive(BroadcastElementwiseBinaryFactory, DeviceType.kCUDA, *ADD, 3)
    add.Launch(gpu.stream, a.shape, gpu.buffer(a), b.shape, gpu.buffer(b), dst)
    np.testing.assert_array_equal(gpu.array(dst, a.shape), a + b)

    expanded = gpu.empty(3 * 4 * 7, DataType.kFloat)
    primitive = RequirePrimitive(ExpandFactory, DeviceType.kCUDA, "float32", 3)
    primitive.Launch(gpu.stream, (4, 1), gpu.buffer(b), (3, 4, 7), expanded)
    np.testing.assert_array_equal(gpu.array(expanded, (3, 4, 7)), np.broadcast_to(b, (3, 4, 7)))

    cube = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    permuted = gpu.empty(60, DataType.kFloat)
    permute = RequirePrimitive(PermuteFactory, DeviceType.kCUDA, 3)
    permute.Launch(gpu.stream, "float32", cube.shape, gpu.buffer(cube), (2, 0, 1), permuted)
    np.testing.assert_array_equal(gpu.array(permuted, (5, 3, 4)), cube.transpose(2, 0, 1))

    box = gpu.buffer(np.zeros(60, np.float32))
    copy = RequirePrimitive(CopyNdFactory, DeviceType.kCUDA, 3)
    begin, far = (0, 0, 0), (1, 1, 2)
    copy.Launch(gpu.stream, "float32", box, cube.shape, begin, gpu.buffer(cube), cube.shape, far, (2, 3, 3))
    np.testing.assert_array_equal(gpu.array(box, cube.shape)[:2, :3, :3], cube[1:, 1:, 2:])

    padded = gpu.empty(5 * 3 * 7, DataType.kFloat)
    pad = RequirePrimitive(ConstantPadFactory, DeviceType.kCUDA, "float32")
    pad.Launch(gpu.stream, cube.shape, gpu.buffer(cube), (1, -1, 1), (1, 0, 1), 7, padded)
    want = np.pad(cube[:, 1:], 1, constant_values=7)[:, 1:-1]
    np.testing.assert_array_equal(gpu.array(padded, want.shape), want)

    indices = np.array([[3, 0, -1], [4, 2, 1]])
    params = np.arange(2 * 3 * 4 * 2, dtype=np.float32).reshape(2, 3, 4, 2)
    out = gpu.empty(2 * 3 * 3 * 2, DataType.kFloat)
    primitive = RequirePrimitive(BatchGatherFactory, DeviceType.kCUDA, "float32", "int64")
    primitive.Launch(gpu.stream, 2, 3, 4, 2, gpu.buffer(params), 3, gpu.buffer(indices), out)
    want = np.zeros((2, 3, 3, 2), np.float32)
    for batch, position in np.ndindex(2, 3):
        if 0 <= indices[batch, position] < 4:
            want[batch, :, position] = params[batch, :, indices[batch, position]]
    np.testing.assert_array_equal(gpu.array(out, want.shape), want)


@pytest.mark.parametrize("src_offset", range(5))
@pytest.mark.parametrize("dst_offset", range(5))
def test_addresses_that_packs_do_not_fit(gpu, src_offset, dst_offset):
    values = np.arange(-20, 23, dtype=np.float32)
    src, dst = (
        gpu.buffer(np.concatenate([np.zeros(src_offset, np.float32), values])),
        gpu.filled(50, DataType.kFloat),
    )
    relu = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCUDA, UnaryOp.kRelu, "float32", "float32")
    relu.Launch(gpu.stream, src[src_offset:], dst[dst_offset:], values.size)
    got = gpu.array(dst)
    np.testing.assert_array_equal(got[dst_offset : dst_offset + values.size], values.clip(0))
    outside = np.concatenate([got[:dst_offset], got[dst_offset + values.size :]])
    assert set(outside.view(np.uint8)) == {0xA5}


@pytest.mark.parametrize(
    "dims", [((6, 8), (8,)), ((6, 8), (6, 1)), ((6, 7), (7,)), ((48,), (1,)), ((48,), (48,))], ids=str
)
@pytest.mark.parametrize("offsets", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 2, 3), (0, 0, 0)], ids=str)
def test_binary_operands_anywhere(gpu, dims, offsets):
    arrays = [np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape) for shape in dims]
    buffers = [
        gpu.buffer(np.concatenate([np.zeros(offset, np.float32), array.reshape(-1)]))[offset:]
        for array, offset in zip(arrays, offsets[:2], strict=True)
    ]
    want = arrays[0] * 100 - arrays[1]
    arrays[0] *= 100
    gpu.write(buffers[0], arrays[0])
    dst = gpu.filled(want.size + 4, DataType.kFloat)
    sub = RequirePrimitive(BroadcastElementwiseBinaryFactory, DeviceType.kCUDA, BinaryOp.kSub, "float32", "float32", 2)
    sub.Launch(gpu.stream, dims[0], buffers[0], dims[1], buffers[1], dst[offsets[2] :])
    got = gpu.array(dst)[offsets[2] : offsets[2] + want.size]
    np.testing.assert_array_equal(got.reshape(want.shape), want)


def test_complex_numbers_at_addresses_of_their_parts(gpu):
    memory = gpu.buffer(np.arange(13.0))
    src, dst = memory[1:].view(np.complex128), gpu.filled(13, DataType.kDouble)[1:].view(np.complex128)
    conj = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCUDA, UnaryOp.kConj, "complex128", "complex128")
    conj.Launch(gpu.stream, src, dst, 6)
    np.testing.assert_array_equal(gpu.array(dst), np.arange(1.0, 13).view(complex).conj())
    expand_ = RequirePrimitive(ExpandFactory, DeviceType.kCUDA, "complex128", 2)
    expand_.Launch(gpu.stream, (1, 2), src, (3, 2), dst)
    np.testing.assert_array_equal(gpu.array(dst), np.tile(np.arange(1.0, 5).view(complex), 3))


def test_addresses_that_elements_do_not_fit_are_refused(gpu):
    memory = gpu.buffer(np.zeros(33, np.uint8))
    relu = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCUDA, UnaryOp.kRelu, "float32", "float32")
    with pytest.raises(ValueError, match=r"src is at 0x.*, which is not a multiple of 4 bytes"):
        relu.Launch(gpu.stream, memory[1:].view(np.float32), gpu.empty(8, DataType.kFloat), 8)


def test_many_threads_launch_one_primitive(gpu):
    add = RequirePrimitive(BroadcastElementwiseBinaryFactory, DeviceType.kCUDA, *ADD, 1)
    ones, results = gpu.buffer(np.ones(64, np.float32)), [gpu.empty(64, DataType.kFloat) for _ in range(4)]
    streams = [gpu.device.CreateStream() for _ in results]

    def work(number):
        for _ in range(5):
            add.Launch(streams[number], (64,), ones, (), float(number), results[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, result in enumerate(results):
        streams[number].Sync()
        assert (gpu.array(result) == number + 1).all()


SAME, NUMBER, SINGLE, PACK, SPREAD, EACH = Access


@pytest.mark.parametrize(
    ("dims0", "dims1", "aligned", "variant"),
    [
        ((5, 8), (5, 8), (True, True, True), Variant(4, (SAME, SAME))),
        ((5, 8), (8,), (True, True, True), Variant(4, (SAME, PACK), 2, 32)),
        ((5, 1), (5, 8), (True, True, True), Variant(4, (SPREAD, SAME), 2, 32)),
        ((5, 1), (1, 8), (True, True, True), Variant(4, (SPREAD, PACK), 2, 32)),
        ((5, 1), (1, 8), (False, True, True), Variant(4, (SPREAD, PACK), 2, 32)),  # single elements need no alignment
        ((5, 8), (8,), (True, False, True), Variant(4, (SAME, EACH), 2, 32)),
        ((5, 7), (7,), (True, True, True), Variant(4, (SAME, EACH), 2, 32)),
        ((5, 7), (), (True, None, True), Variant(4, (SAME, NUMBER))),
        ((5, 7), (1,), (True, True, True), Variant(4, (SAME, SINGLE))),
        ((5, 8), (5, 8), (True, False, True), Variant(1, (SAME, SAME))),
        ((5, 8), (8,), (True, True, False), Variant(1, (SAME, EACH), 2, 32)),
        ((5, 1), (5, 4), (True, True, True), Variant(4, (SPREAD, SAME), 1, 32)),  # a row is one pack
        ((2**16, 1, 2**15), (2**15, 1), (True, True, True), Variant(4, (PACK, SPREAD), 3, 64)),
    ],
)
def test_variants_of_binary_launches(dims0, dims1, aligned, variant):
    shape = map_plan.map_shape((dims0, dims1), ("src0_dims", "src1_dims"))
    assert map_plan.map_plan(shape, aligned, 4).variant == variant


def test_words_of_a_walk():
    assert walk_words((3, 5), ((5, 0), (0, 1)), 32) == (0, 1, 5, 2576980378, 3, 5, 0)
    for num_axes in range(1, 9):
        assert len(walk_words((7,) * num_axes, [(1,) * num_axes] * 3, 64)) == num_walk_words(num_axes, 3)


@pytest.mark.parametrize(("items", "resident", "blocks"), [(1, 100, 1), (10**9, 2, 2), (10**9, 10**6, None)])
def test_blocks_of_a_launch(items, resident, blocks):
    got = num_blocks(items, resident)
    assert 1 <= got <= min(items, resident)
    assert blocks in (None, got)
