"""Grids of three axes, records of words, shared memory, and functors of several operands."""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.special

from ep import DeviceType, UnaryOp
from ep.common.functor.lookup import functor_maker
from ep.cuda.compile import loader, memory
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.kernel_words import Divisor, Words, flat
from ep.cuda.compile.launch_config import BLOCK_THREADS, Grid, pack_elements
from ep.cuda.compile.numba_cuda import (
    barrier,
    block_of_grid,
    blocks_of_grid,
    shared_array,
    thread_index,
    thread_of_block,
)
from ep.cuda.driver.current import driver
from ep.cuda.engine.map import kernel as map_engine
from ep.cuda.engine.map.functor import made_functor
from ep.cuda.engine.map.plan import map_plan, map_shape
from ep.include import DataType
from ep.include.number_kind import Kind
from ep.testing.device_under_test import DeviceUnderTest

STORE, LOAD = memory.storer(DataType.kInt64, 1), memory.loader(DataType.kInt64, 1)


@pytest.fixture
def gpu(cuda):
    return DeviceUnderTest(DeviceType.kCUDA)


def test_grids_of_three_axes(gpu):
    def numbers(dst):
        x, y, z = block_of_grid()
        num_x, num_y, _ = blocks_of_grid()
        if thread_of_block() == 0:
            STORE(dst, (z * num_y + y) * num_x + x, (x + 10 * y + 100 * z,))

    dst = gpu.empty(2 * 3 * 4, DataType.kInt64)
    loader.load(driver(), 0, KernelSource("test.numbers", numbers)).launch_grid(
        gpu.stream, Grid((4, 3, 2)), dst.address
    )
    want = [x + 10 * y + 100 * z for z in range(2) for y in range(3) for x in range(4)]
    assert gpu.array(dst).tolist() == want


class _Record(NamedTuple):
    size: Divisor
    before: Words
    last: int


def test_a_kernel_gets_records_of_words(gpu):
    """Tuples of words and records may be fields of records, and arguments beside words."""

    def write_words(dst: int, record: _Record, after: Words) -> None:
        size, before = record.size, record.before
        words = size.value, size.multiplier, size.shift, before[0], before[1], record.last, after[0]
        if thread_index() == 0:
            for k in range(7):
                STORE(dst, k, (words[k],))

    dst, record = gpu.empty(7, DataType.kInt64), _Record(Divisor(5, -7, 3), (11, 13), 17)
    kernel = loader.load(driver(), 0, KernelSource("test.records", write_words, (2, 1)))
    kernel.launch(gpu.stream, 1, dst.address, *flat(record), 19)
    assert gpu.array(dst).tolist() == [5, -7, 3, 11, 13, 17, 19]


@pytest.mark.parametrize("static", [True, False])
def test_a_block_reverses_its_part_through_shared_memory(gpu, static):
    kept = shared_array(BLOCK_THREADS if static else 0, np.int64)

    def reverse(src, dst):
        thread, first = thread_of_block(), block_of_grid()[0] * BLOCK_THREADS
        numbers = kept()
        numbers[thread] = LOAD(src, first + thread)[0]
        barrier()
        STORE(dst, first + thread, (numbers[BLOCK_THREADS - 1 - thread],))

    values = np.arange(3 * BLOCK_THREADS)
    src, dst = gpu.buffer(values), gpu.empty(values.size, DataType.kInt64)
    grid = Grid((3, 1, 1), shared_bytes=0 if static else 8 * BLOCK_THREADS)
    kernel = loader.load(driver(), 0, KernelSource(f"test.reverse.{static:d}", reverse))
    kernel.launch_grid(gpu.stream, grid, src.address, dst.address)
    np.testing.assert_array_equal(gpu.array(dst), values.reshape(3, -1)[:, ::-1].reshape(-1))


def gelu_of_sum_times(m):
    """Compute gelu(a + b) c: several ops as one functor."""
    gelu = m.use(functor_maker(UnaryOp.kGelu, Kind.FLOAT))

    def f(a, b, c):
        return gelu(a + b) * c

    return f


@pytest.mark.parametrize(
    "dims",
    [
        [(3, 4, 8), (3, 4, 8), (3, 4, 8)],
        [(3, 4, 8), (8,), (4, 1)],
        [(3, 1, 8), (4, 1), (1,)],
        [(5, 7), (1, 7), (5, 1)],
        [(2, 1, 2, 1, 2), (1, 3, 1, 3, 1), (2, 3, 2, 3, 2)],
    ],
    ids=str,
)
def test_a_functor_of_three_operands(gpu, rng, dims):
    arrays = [rng.standard_normal(part).astype(np.float32) for part in dims]
    buffers = [gpu.buffer(array.reshape(-1)) for array in arrays]
    shape = map_shape(dims, ("a", "b", "c"))
    dst = gpu.filled(shape.num_elements + 1, DataType.kFloat)
    elements = pack_elements(DataType.kFloat)
    plan = map_plan(shape, [True] * 4, elements)
    types = (DataType.kFloat,) * 3, DataType.kFloat, np.float32
    functor = made_functor("test.gelu_of_sum_times", gelu_of_sum_times, *types)
    words = [word for buffer in buffers for word in (buffer.address, 0)]
    words += dst.address, plan.packs, shape.num_elements, 0, 0, *plan.words
    loader.load(driver(), 0, map_engine.kernel(functor, plan.variant)).launch(gpu.stream, plan.num_items, *words)
    got = gpu.array(dst)
    a, b, c = (array.astype(np.float64) for array in arrays)
    want = (a + b) * 0.5 * scipy.special.erfc(-(a + b) / np.sqrt(2)) * c
    np.testing.assert_allclose(got[:-1].reshape(want.shape), want, 3e-6, 1e-7)
    assert set(got[-1:].view(np.uint8)) == {0xA5}
