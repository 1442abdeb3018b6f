"""The shared memory of kernels of rows: what they declare, and what their launches ask for."""

import re

import numpy as np
import pytest

import ep
from ep.cuda.device.stream import CudaStream
from ep.cuda.engine.map.expression_plan import Layout
from ep.cuda.engine.reduce import rows
from ep.cuda.engine.reduce.row_expression_plan import RowExpressionPlan, Storage
from ep.cuda.engine.reduce.row_plan import MERGE_BYTES, row_plan
from ep.cuda.engine.reduce.row_program import RowProgram
from ep.cuda.kernels import row_expression, softmax
from ep.include import DataType
from ep.include.data_type import as_data_type
from ep.include.primitive import BinaryOp, ReduceOp, UnaryOp
from ep.include.primitive.structure import RowOp, Step, Structure
from ep.ops import copy_to_host as host
from tests.cuda.main_kernels import MAIN_KERNELS, ptx
from tests.fuse.maps import traced
from tests.fuse.test_random_graphs import bits
from tests.fuse.test_rows import layer_norm, mean
from tools.ptx import find_ptxas, resources

SM_90 = (9, 0)
BLOCK_BYTES = 227 * 1024
"""The largest shared memory of a block of an H100."""

MULTIPROCESSOR_BYTES, RESERVED_BYTES = 228 * 1024, 1024
"""The shared memory of its multiprocessors, of which each block takes some in addition to its own."""

TYPES = (DataType.kFloat16, DataType.kBFloat16, DataType.kFloat, DataType.kDouble)
REDUCTIONS = (ReduceOp.kSum, ReduceOp.kMean, ReduceOp.kProd, ReduceOp.kMin, ReduceOp.kMax)


def declared(text):
    """The bytes of static shared memory in PTX."""
    arrays = re.findall(r"^(?!\.extern).*\.shared\s+\.align\s+\d+\s+\.b(\d+)\s+\w+\[(\d+)\]", text, re.MULTILINE)
    return sum(int(width) // 8 * int(count) for width, count in arrays)


def launch_of(structure, *layouts, shape):
    program = RowProgram(structure)
    plan = RowExpressionPlan(program, [layout or Layout(shape, None) for layout in layouts], shape)
    return program, plan.launch((0,) * len(layouts), BLOCK_BYTES)


def every_reduction():
    """Every reduction of a source in each type, and a softmax in each."""
    types = [*TYPES, DataType.kInt8, DataType.kInt32, DataType.kInt64, DataType.kUInt32, DataType.kUInt64]
    steps, results = [], []
    for data_type in types:
        steps.append(Step(UnaryOp.kCast, (0,), data_type))
        value = len(steps)
        for op in REDUCTIONS[0 if data_type in TYPES else 2 :]:
            steps.append(Step(op, (value,), data_type))
            results.append(len(steps))
        if data_type in TYPES:
            steps += [Step(RowOp.kSoftmax, (value,), data_type), Step(ReduceOp.kMax, (len(steps) + 1,), data_type)]
            results.append(len(steps))
    return Structure((DataType.kFloat,), (), tuple(steps), tuple(results))


def softmaxes_of_twice(data_type, number=1):
    """softmax(x + x) for each of `number` sources."""
    doubled = [Step(BinaryOp.kAdd, (k, k), data_type) for k in range(number)]
    steps = [Step(RowOp.kSoftmax, (number + k,), data_type) for k in range(number)]
    return Structure((data_type,) * number, (), (*doubled, *steps), tuple(range(2 * number, 3 * number)))


@pytest.mark.ep_long
def test_what_kernels_of_rows_declare():
    """Plans leave MERGE_BYTES for it, however much is merged."""
    texts = [
        ptx(kernel.make(), SM_90)
        for name, kernel in MAIN_KERNELS.items()
        if re.match("fused rows|(log_)?softmax", name)
    ]
    structure = every_reduction()
    one = Layout((3, 1), None)
    program, launch = launch_of(structure, *[one] * len(structure.results), None, shape=(3, 4099))
    texts.append(ptx(row_expression.kernel(program, launch.variant), SM_90))
    assert {declared(text) for text in texts} == {0, MERGE_BYTES}
    if ptxas := find_ptxas():
        assert resources(ptxas, texts[-1], SM_90).shared == MERGE_BYTES


@pytest.mark.parametrize("data_type", TYPES, ids=lambda t: t.name)
def test_static_and_dynamic_memory_fit_a_block(data_type):
    """Where rows have room for the last time, and one element later."""
    function = {2: softmax.log_softmax, 3: softmax.softmax_backward}
    for num_arrays in (2, 3):
        size = (num_arrays - 1) * data_type.itemsize
        for cols in range((BLOCK_BYTES - 2 * MERGE_BYTES) // size - 2, BLOCK_BYTES // size + 2):
            plan = row_plan(data_type, 2**10, cols, (0,) * num_arrays, BLOCK_BYTES)
            assert plan.grid.shared_bytes + MERGE_BYTES <= BLOCK_BYTES
        text = ptx(rows.kernel(function[num_arrays], data_type, plan.variants[0]), SM_90)
        assert declared(text) == MERGE_BYTES
    kept = set()
    for cols in range(4000, 8192, 97):
        _, launch = launch_of(softmaxes_of_twice(DataType.kDouble, 4), *[None] * 8, shape=(64, cols))
        assert launch.grid.shared_bytes + MERGE_BYTES <= BLOCK_BYTES
        kept.add(launch.variant.kept)
    assert kept >= {Storage.SOURCES, Storage.MEMORY}


@pytest.mark.parametrize("data_type", TYPES, ids=lambda t: t.name)
@pytest.mark.parametrize("cols", [1025, 4096, 4097, 8192])
def test_a_row_takes_the_memory_of_what_it_keeps(data_type, cols):
    _, launch = launch_of(softmaxes_of_twice(data_type), None, None, shape=(64, cols))
    kept = cols * (6 if data_type.itemsize == 2 else data_type.itemsize)  # elements, and exponentials in float32
    kept *= launch.variant.block_rows
    assert kept <= launch.grid.shared_bytes < kept + 64


def test_values_that_follow_each_other_use_the_same_memory():
    """In a layer norm, the differences from the mean replace the elements."""
    arrays = [np.zeros(shape, np.float32) for shape in ((64, 8192), (8192,), (8192,))]
    structure = traced(layer_norm, arrays)
    layouts = [Layout(array.shape, None) for array in (arrays[0], *arrays)]
    _, launch = launch_of(structure, *layouts, shape=(64, 8192))
    block = launch.grid.shared_bytes + MERGE_BYTES + RESERVED_BYTES
    assert MULTIPROCESSOR_BYTES // block == 6


@pytest.mark.parametrize("cols", [5, 33, 67, 512, 1029])
def test_values_of_several_sizes_are_kept_side_by_side(cols, cuda, rng):
    """Rows of one thread, of part of a warp, and of a block; with packs and without."""
    ops = ep.ops

    def function(x, y):
        half, wide, flag = ops.cast(x * y, "float16"), ops.cast(x, "float64") * 3.0, x > y
        centred = wide - mean(wide)
        small = half - mean(half)
        largest = ops.max(small, -1, keepdims=True) + ops.cast(mean(centred * centred), "float16")
        return (
            small * largest,
            centred * ops.cast(largest, "float64"),
            ops.where(flag, x, ops.max(x, -1, keepdims=True)),
        )

    fused = ep.fuse(function, round_each=True)
    for count in (1, 23):
        x, y = (ops.copy_to_device(rng.standard_normal((count, cols)).astype(np.float32), "cuda") for _ in range(2))
        assert [bits(host(one)) for one in fused(x, y)] == [bits(host(one)) for one in function(x, y)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("cols", [7, 300, 1029])
def test_exponentials_are_kept_or_computed_again(cols, dtype, cuda, shared_memory, monkeypatch, rng):
    """The results have the bits of the primitive, also if others need the softmax or its operand."""
    ops = ep.ops

    def function(x, y):
        z = x * y
        shares = ops.softmax(z)
        return shares, ops.softmax(x) + z, ops.sum(shares * z, -1), ops.log_softmax(z)

    x, y = rng.standard_normal((2, 3, cols)).astype(as_data_type(dtype).dtype)
    x, y = (ops.copy_to_device(one, "cuda") for one in (x, y))
    expected = [bits(host(one)) for one in function(x, y)]
    for room in (BLOCK_BYTES, MERGE_BYTES):
        shared_memory(room)
        monkeypatch.setattr(CudaStream, "shared_bytes", room)
        assert [bits(host(one)) for one in ep.fuse(function, round_each=True)(x, y)] == expected
