"""Softmaxes, reductions and segment sums on CUDA, beyond the contract: plans, shuffles, parts, sorted ids."""

import numpy as np
import pytest

from ep import DeviceType, RequirePrimitive
from ep.common.primitive.reduce_shape import Axis
from ep.cuda.compile import loader, memory
from ep.cuda.compile.compiler import KernelSource, statistics
from ep.cuda.compile.launch_config import BLOCK_THREADS, Grid, pack_elements, row_elements
from ep.cuda.compile.numba_cuda import shuffle_xor, thread_of_block
from ep.cuda.driver.current import driver
from ep.cuda.engine.reduce import plan as reduce_plans
from ep.cuda.engine.reduce import row_plan as row_plans
from ep.cuda.engine.reduce import segment_plan as segment_plans
from ep.cuda.engine.reduce.plan import reduce_plan, row_threads
from ep.cuda.engine.reduce.row_plan import RowStorage, row_plan, threads_of_row
from ep.include import DataType
from ep.include.data_type import as_data_type
from ep.include.primitive import (
    BatchUnsortedSegmentSumFactory,
    LogSoftmaxFactory,
    ReduceFactory,
    ReduceOp,
    SoftmaxBackwardFactory,
    SoftmaxFactory,
    UnsortedSegmentSumFactory,
)
from ep.testing.device_under_test import DeviceUnderTest


@pytest.fixture
def gpu(cuda):
    return DeviceUnderTest(DeviceType.kCUDA)


def reduced(gpu, op, data_type, array, axes, offset=0):
    """Return the reduction of an array that begins `offset` elements into its buffer."""
    src = gpu.buffer(np.concatenate([np.zeros(offset, array.dtype), array.reshape(-1)]))[offset:]
    dims = [size for axis, size in enumerate(array.shape) if axis not in axes]
    dst = gpu.filled(int(np.prod(dims)), data_type)
    RequirePrimitive(ReduceFactory, DeviceType.kCUDA, op, data_type, 8).Launch(gpu.stream, array.shape, src, axes, dst)
    return gpu.array(dst, tuple(dims))


def segment_sum(gpu, data, ids, num_segments):
    """Return the sums of rows; data is [..., ids, columns]; the outer axis is optional."""
    *outer, num_ids, inner = data.shape
    out = gpu.filled(int(np.prod([*outer, num_segments, inner])), as_data_type(data.dtype))
    primitive = RequirePrimitive(UnsortedSegmentSumFactory, DeviceType.kCUDA, data.dtype, "int32")
    sizes = int(np.prod(outer)), num_segments, inner
    primitive.Launch(gpu.stream, *sizes, gpu.buffer(data.reshape(-1)), num_ids, gpu.buffer(ids), out)
    return gpu.array(out, (*outer, num_segments, inner))


def in_parts(data, ids, num_segments):
    """Add rows in order; more than 64 rows in parts of 64, 128, 256 or 512: the first that gives no more parts than
    rows in a part, or 512.
    """
    wide = np.float32 if data.dtype == as_data_type("bfloat16").dtype else data.dtype
    out = np.zeros((*data.shape[:-2], num_segments, data.shape[-1]), wide)
    for segment in range(num_segments):
        rows = np.flatnonzero(ids == segment)
        part = next(size for size in (64, 128, 256, 512) if size * size >= rows.size or size == 512)
        part = part if rows.size > 64 else 64
        for first in range(0, rows.size, part):
            total = np.zeros_like(out[..., 0, :])
            for row in rows[first : first + part]:
                total += data[..., row, :].astype(wide)
            out[..., segment, :] += total
    return out.astype(data.dtype)


@pytest.mark.parametrize("data_type", [*DataType], ids=lambda t: t.name)
def test_shuffles_exchange_numbers_of_every_type(gpu, rng, data_type):
    load, store = memory.loader(data_type, 1), memory.storer(data_type, 1)

    def exchange(src, dst):
        thread = thread_of_block()
        store(dst, thread, (shuffle_xor(load(src, thread)[0], 5),))

    values = rng.integers(0, 256, (32, data_type.itemsize), np.uint8)
    if data_type is DataType.kBool:
        values &= 1
    if data_type.dtype.kind not in "biu":
        values = rng.standard_normal(32).astype(data_type.dtype)
    values = values.view(data_type.dtype).reshape(-1)
    src, dst = gpu.buffer(values), gpu.empty(32, data_type)
    kernel = loader.load(driver(), 0, KernelSource(f"test.exchange.{data_type.name}", exchange))
    kernel.launch_grid(gpu.stream, Grid((1, 1, 1), (32, 1, 1)), src.address, dst.address)
    assert gpu.array(dst).tobytes() == values[np.arange(32) ^ 5].tobytes()


def test_rows_and_columns_of_one_primitive_have_kernels_of_their_own(gpu):
    """A thread reduces four elements of each row of 16, and then four columns of eight."""
    numbers = np.arange(128, dtype=np.float32).reshape(8, 16)
    primitive = RequirePrimitive(ReduceFactory, DeviceType.kCUDA, ReduceOp.kSum, "float32", 8)
    for axis in (1, 0):
        dst = gpu.filled(numbers.size // numbers.shape[axis], DataType.kFloat)
        primitive.Launch(gpu.stream, numbers.shape, gpu.buffer(numbers.reshape(-1)), (axis,), dst)
        np.testing.assert_array_equal(gpu.array(dst), numbers.sum(axis))


def test_where_a_row_is_kept():
    def variant(data_type, cols, shared_bytes=227 * 1024, addresses=(0, 0)):
        (variant,) = row_plan(data_type, 3, cols, addresses, shared_bytes).variants
        return variant

    assert variant(DataType.kFloat, 1024)[:3] == (RowStorage.REGISTERS, 4, True)
    assert variant(DataType.kFloat, 1024).packs == 8
    assert variant(DataType.kFloat, 33) == (RowStorage.REGISTERS, 1, True, 8, 6)
    assert variant(DataType.kBFloat16, 9) == (RowStorage.REGISTERS, 1, True, 8, 2)
    assert variant(DataType.kBFloat16, 12)[1:] == (4, True, 4, 1)
    assert variant(DataType.kDouble, 126) == (RowStorage.REGISTERS, 2, True, 8, 8)
    assert not variant(DataType.kFloat, 1024, addresses=(0, 4)).aligned
    assert variant(DataType.kFloat, 1025) == (RowStorage.SHARED, 1, True, BLOCK_THREADS // 2, 0)
    assert variant(DataType.kFloat, 2049) == (RowStorage.SHARED, 1, True, BLOCK_THREADS, 0)
    assert variant(DataType.kFloat, 8201).storage is variant(DataType.kBFloat16, 8200).storage is RowStorage.SHARED
    assert variant(DataType.kFloat, 50_257).row_threads == 2 * BLOCK_THREADS
    assert variant(DataType.kFloat, 50_257).storage is RowStorage.LOADED
    assert variant(DataType.kDouble, 20_000).storage is RowStorage.SHARED
    assert variant(DataType.kFloat, 50_257, 100 * 1024).storage is RowStorage.NOWHERE
    assert (
        variant(DataType.kBFloat16, 50_257, 100 * 1024).storage is RowStorage.LOADED
    )  # two blocks on a multiprocessor
    assert variant(DataType.kFloat, 1025, addresses=(0, 0, 0)).storage is RowStorage.LOADED
    assert variant(DataType.kFloat, 31_000, addresses=(0, 0, 0)).storage is RowStorage.NOWHERE  # two operands
    assert variant(DataType.kFloat, 1023, addresses=(0, 0, 0)) == (RowStorage.LOADED, 1, True, 32, 0)
    assert variant(DataType.kFloat, 1022, addresses=(0, 0, 0)).storage is RowStorage.REGISTERS
    assert variant(DataType.kBFloat16, 1023, addresses=(0, 0, 0)) == (RowStorage.REGISTERS, 1, True, 32, 32)


@pytest.mark.parametrize("data_type", [DataType.kFloat, DataType.kBFloat16, DataType.kDouble], ids=str)
def test_a_softmax_and_a_reduction_divide_a_row_among_as_many_threads(data_type):
    """From five packs to the longest row of a warp, so that a kernel that has both has no idle threads."""
    pack = pack_elements(data_type)
    for cols in range(1, 4096 // max(data_type.itemsize, 4) + 1):
        elements = row_elements(cols, pack)
        if (packs := cols // elements) > 4:
            threads, in_registers = threads_of_row(data_type, cols)
            assert row_threads(packs, elements, pack) == threads in (8, 16, 32)
            assert threads * in_registers >= packs


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_a_softmax_that_is_prepared_has_the_kernel_of_rows_of_256(gpu, rng, dtype):
    primitive = RequirePrimitive(LogSoftmaxFactory, DeviceType.kCUDA, dtype)
    primitive.Prepare()
    wanted = len(statistics.names)
    x = rng.normal(size=3 * 256).astype(as_data_type(dtype).dtype)
    primitive.Launch(gpu.stream, 3, 256, gpu.buffer(x), gpu.empty(x.size, as_data_type(dtype)))
    assert statistics.names[wanted:] == []


def test_the_largest_of_a_row_has_a_logarithm_of_its_own(gpu):
    x, y = np.array([30, 0, 1], np.float32), gpu.empty(3, DataType.kFloat)
    RequirePrimitive(LogSoftmaxFactory, DeviceType.kCUDA, "float32").Launch(gpu.stream, 1, 3, gpu.buffer(x), y)
    assert gpu.array(y)[0] == pytest.approx(-np.log1p(np.exp(-30) + np.exp(-29)), rel=1e-3)


@pytest.fixture
def roomy(shared_memory):
    """Give the device as much shared memory per block as a GPU has."""
    shared_memory(227 * 1024)


@pytest.mark.parametrize("cols", [6000, 9001, 9004])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_rising_row_that_is_read_again(gpu, roomy, dtype, cols):
    """Each thread's maximum grows with every pack, so its sum is rescaled each time."""
    x = np.linspace(-40, 40, cols, dtype=np.float32).astype(as_data_type(dtype).dtype)
    wide = np.exp(x.astype(np.float64) - 40)
    share, error = wide / wide.sum(), 3e-7 if dtype == "float32" else 2.0**-8
    for factory, expected in ((SoftmaxFactory, share), (LogSoftmaxFactory, np.log(share))):
        y = gpu.empty(x.size, as_data_type(x.dtype))
        RequirePrimitive(factory, DeviceType.kCUDA, dtype).Launch(gpu.stream, 1, x.size, gpu.buffer(x), y)
        np.testing.assert_allclose(gpu.array(y).astype(np.float64), expected, error, 1e-37)


def test_the_largest_of_a_long_row_has_a_logarithm_of_its_own(gpu, roomy):
    x = np.full(9001, -30, np.float32)
    x[[77, 5000]] = -7, 0  # each thread processes its elements in order
    y = gpu.empty(x.size, DataType.kFloat)
    RequirePrimitive(LogSoftmaxFactory, DeviceType.kCUDA, "float32").Launch(gpu.stream, 1, x.size, gpu.buffer(x), y)
    assert gpu.array(y)[5000] == pytest.approx(-np.log1p(np.exp(-7) + 8999 * np.exp(-30.0)), rel=1e-6)


@pytest.mark.parametrize("cols", [1029, 1032, 9001])
def test_gradients_of_rows_in_shared_memory(gpu, roomy, rng, cols):
    y, dy = (rng.standard_normal((3, cols)).astype(np.float32) for _ in range(2))
    dx = gpu.empty(y.size, DataType.kFloat)
    buffers = [gpu.buffer(one.reshape(-1)) for one in (y, dy)]
    RequirePrimitive(SoftmaxBackwardFactory, DeviceType.kCUDA, "float32").Launch(gpu.stream, 3, cols, *buffers, dx)
    wide, products = dy.astype(np.float64), (y.astype(np.float64) * dy).sum(1, keepdims=True)
    np.testing.assert_allclose(gpu.array(dx, y.shape), (wide - products) * y, 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((3, 68), (1,)), ((3, 67), (1,)), ((40, 12), (0,)), ((4, 5, 6), (0, 2)), ((9001,), (0,)), ((3001, 3), (0,))],
    ids=str,
)
def test_the_bits_of_a_sum_do_not_depend_on_the_address(gpu, rng, shape, axes):
    array = rng.standard_normal(shape).astype(np.float32)
    results = {reduced(gpu, ReduceOp.kSum, DataType.kFloat, array, axes, offset).tobytes() for offset in range(4)}
    assert len(results) == 1


def test_how_few_values_are_divided_into_parts():
    sizes = [(Axis(2**24, True),), (Axis(2**24, True), Axis(4, False)), (Axis(2, False), Axis(2**22, True))]
    for axes in sizes:
        plan = reduce_plan(axes, 4, 16)
        assert plan.parts > 1
        assert plan.grid.blocks[1] == plan.parts
    assert reduce_plan((Axis(2**20, False), Axis(64, True)), 4, 16).parts == 1


def test_parts_lie_in_memory_in_the_order_of_the_stream(gpu, rng, monkeypatch):
    given, freed = [], []
    stream = gpu.stream
    alloc, free = stream.AllocAsync, stream.FreeAsync
    monkeypatch.setattr(stream, "AllocAsync", lambda size: given.append(alloc(size)) or given[-1], raising=False)
    monkeypatch.setattr(stream, "FreeAsync", lambda block: freed.append(block) or free(block), raising=False)
    array = rng.uniform(1, 2, 70_000)
    assert reduced(gpu, ReduceOp.kMean, DataType.kDouble, array, (0,)) == pytest.approx(array.mean(), rel=1e-15)
    assert given == freed
    assert len(given) == 1


def test_a_mean_of_large_numbers(gpu):
    largest = np.finfo(np.float64).max
    array = np.array([[largest] * 9, [largest, -largest, 9] * 3, [5e-324] * 9, [1e300] * 8 + [1]])
    got = reduced(gpu, ReduceOp.kMean, DataType.kDouble, array, (1,))
    np.testing.assert_allclose(got, [largest, 3, 5e-324, 8e300 / 9], 1e-15)


def test_index_arithmetic_in_64_bits(gpu, rng, monkeypatch):
    for module in (reduce_plans, segment_plans):
        monkeypatch.setattr(module, "fits_32_bit_offsets", lambda *counts: False)
    array = rng.integers(-9, 9, (3, 4, 5)).astype(np.int32)
    for axes in ((0,), (1,), (0, 2)):
        got = reduced(gpu, ReduceOp.kSum, DataType.kInt32, array, axes)
        np.testing.assert_array_equal(got, array.sum(axes, dtype=np.int32))
    data, ids = rng.standard_normal((30, 3)).astype(np.float32), rng.integers(-1, 5, 30).astype(np.int32)
    np.testing.assert_array_equal(segment_sum(gpu, data, ids, 4), in_parts(data, ids, 4))


@pytest.mark.parametrize("num_segments", [3, 17, 300])
@pytest.mark.parametrize("in_block", [True, False])
def test_ids_are_sorted_by_one_block_and_by_many(gpu, rng, monkeypatch, num_segments, in_block):
    count = 5 * BLOCK_THREADS * segment_plans.TILE_KEYS + 3
    monkeypatch.setattr(segment_plans, "_BLOCK_KEYS", count if in_block else 0)
    data = rng.standard_normal((count, 2)).astype(np.float32)
    ids = rng.integers(-1, num_segments + 1, count).astype(np.int32)
    np.testing.assert_array_equal(segment_sum(gpu, data, ids, num_segments), in_parts(data, ids, num_segments))


LENGTHS = (64, 65, 3, 193, 128, 0, 129, 4097, 67)
"""Lengths of runs that begin and end at, before and after multiples of the rows of a part."""


@pytest.mark.parametrize(
    ("dtype", "inner"),
    [("float32", 1), ("float32", 16), ("bfloat16", 16), ("bfloat16", 5), ("uint8", 16), ("complex128", 3)],
)
def test_long_runs_are_added_in_parts(gpu, rng, dtype, inner):
    """Ids outside the segments, before and after the others, also form a long run, which belongs to no segment."""
    ids = rng.permutation(np.repeat(np.arange(-1, len(LENGTHS) + 1), (100, *LENGTHS, 100)).astype(np.int32))
    data = rng.integers(0, 2**24, (ids.size, inner)).astype(as_data_type(dtype).dtype)
    np.testing.assert_array_equal(segment_sum(gpu, data, ids, len(LENGTHS)), in_parts(data, ids, len(LENGTHS)))


def test_the_parts_of_longer_runs_have_more_rows(gpu, rng):
    """Several blocks find the places of the parts."""
    ids = np.repeat(np.arange(3, dtype=np.int32), (2**14, 2**14 + 1, 2**16 + 1))
    data = rng.standard_normal((ids.size, 1)).astype(np.float32)
    np.testing.assert_array_equal(segment_sum(gpu, data, ids, 3), in_parts(data, ids, 3))


def test_the_bits_of_long_runs_do_not_depend_on_the_grid(gpu, rng, monkeypatch):
    ids = rng.permutation(np.repeat(np.arange(3, dtype=np.int32), (700, 5, 90)))
    data = rng.standard_normal((2, ids.size, 67)).astype(np.float32)
    results = {segment_sum(gpu, data, ids, 3).tobytes()}
    for blocks in (1, 2, 5):
        monkeypatch.setattr(loader, "num_blocks", lambda items, resident, blocks=blocks: blocks)
        results.add(segment_sum(gpu, data, ids, 3).tobytes())
    assert results == {in_parts(data, ids, 3).tobytes()}


def test_long_runs_of_batches(gpu, rng):
    ids = rng.integers(-1, 3, (2, 301)).astype(np.int32)
    data, out = rng.standard_normal((2, 3, 301, 5)).astype(np.float32), gpu.filled(2 * 3 * 2 * 5, DataType.kFloat)
    primitive = RequirePrimitive(BatchUnsortedSegmentSumFactory, DeviceType.kCUDA, "float32", "int32")
    buffers = gpu.buffer(data.reshape(-1)), 301, gpu.buffer(ids.reshape(-1)), out
    primitive.Launch(gpu.stream, 2, 3, 2, 5, *buffers)
    expected = [in_parts(rows, own, 2) for rows, own in zip(data, ids, strict=True)]
    np.testing.assert_array_equal(gpu.array(out, (2, 3, 2, 5)), expected)


@pytest.mark.parametrize("ids", [[], [1], [2], [-1], [1] * 65, [2] * 65], ids=len)
def test_few_ids(gpu, rng, ids):
    ids, data = np.array(ids, np.int32), rng.standard_normal((len(ids), 3)).astype(np.float32)
    np.testing.assert_array_equal(segment_sum(gpu, data, ids, 2), in_parts(data, ids, 2))


def test_a_grid_of_fewer_blocks_than_there_is_work_for(gpu, rng, monkeypatch):
    """Blocks loop with the stride of the grid, along each of its axes."""
    for module in (reduce_plans, row_plans, segment_plans):
        monkeypatch.setattr(module, "MAX_BLOCKS", 2)
    monkeypatch.setattr(segment_plans, "_BLOCK_KEYS", 0)
    array = rng.integers(-9, 9, (1303, 37)).astype(np.int32)
    for axis in (0, 1):
        got = reduced(gpu, ReduceOp.kSum, DataType.kInt32, array, (axis,))
        np.testing.assert_array_equal(got, array.sum(axis, dtype=np.int32))
    for cols in (7, 1291):  # kept in registers, and in shared memory
        x = rng.standard_normal((131, cols)).astype(np.float32)
        y = gpu.empty(x.size, DataType.kFloat)
        RequirePrimitive(SoftmaxFactory, DeviceType.kCUDA, "float32").Launch(gpu.stream, *x.shape, gpu.buffer(x), y)
        wide = np.exp(x.astype(np.float64))
        np.testing.assert_allclose(gpu.array(y, x.shape), wide / wide.sum(1, keepdims=True), 1e-6)
    num_ids, outer = 4 * BLOCK_THREADS * segment_plans.TILE_KEYS + 3, 3
    data = rng.standard_normal((outer, num_ids, 2)).astype(np.float32)
    ids = rng.integers(-1, 5, num_ids).astype(np.int32)
    np.testing.assert_array_equal(segment_sum(gpu, data, ids, 4), in_parts(data, ids, 4))


def test_the_parts_of_complex_numbers_where_there_are_none(gpu):
    """The real and the imaginary parts form a last axis, which is not reduced: the mean of nothing has NaN in both."""
    got = reduced(gpu, ReduceOp.kMean, DataType.kComplex128, np.zeros((3, 0), np.complex128), (1,))
    assert np.isnan(got.real).all()
    assert np.isnan(got.imag).all()
