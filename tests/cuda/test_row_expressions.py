"""Kernels for the rows of expressions: the values that they keep, in which memory, and when they write results."""

import numpy as np
import pytest

import ep
from ep import DeviceType
from ep.cuda.engine.map.expression_plan import Layout
from ep.cuda.engine.reduce.row_expression_plan import RowExpressionPlan, Storage, Way
from ep.cuda.engine.reduce.row_plan import MERGE_BYTES
from ep.cuda.engine.reduce.row_program import RowProgram, Sharing
from ep.include import DataType
from ep.include.primitive import BinaryOp, ExpressionFactory, ReduceOp, RequirePrimitive, UnaryOp
from ep.include.primitive.structure import ChoiceOp, RowOp, Step, Structure
from ep.ops import copy_to_host as host
from tests.fuse.test_random_graphs import bits
from tests.fuse.test_rows import mean

REAL = DataType.kFloat
# h = x y; the results are (h - sum(h)) x and h
STRUCTURE = Structure(
    (REAL, REAL),
    (),
    (
        Step(BinaryOp.kMul, (0, 1), REAL),
        Step(ReduceOp.kSum, (2,), REAL),
        Step(BinaryOp.kSub, (2, 3), REAL),
        Step(BinaryOp.kMul, (4, 0), REAL),
    ),
    (5, 2),
)
MEMORY = {Storage.SOURCES: 2**20, Storage.VALUES: MERGE_BYTES + 8 * 4 * 516, Storage.MEMORY: 2**10}
"""For each way to keep rows of 512 float32, of which h alone or h and x are kept: bytes of shared memory that lead to
it.
"""


def plan_of(structure, *layouts, shape=(64, 512)):
    return RowExpressionPlan(RowProgram(structure), [layout or Layout(shape, None) for layout in layouts], shape)


def variant_of(*layouts, addresses=(0, 0, 0, 0), shared_bytes=2**20):
    return plan_of(STRUCTURE, *layouts).launch(addresses, shared_bytes).variant


def test_what_a_row_keeps_and_where():
    for kept, shared_bytes in MEMORY.items():
        launch = plan_of(STRUCTURE, None, None, None, None).launch((0,) * 4, shared_bytes)
        assert launch.variant.kept is kept
        assert (launch.kept_bytes > 0) == (kept is Storage.MEMORY)
        assert launch.variant.again == (0,)
    of_all_rows = Layout((512,), None)
    assert variant_of(None, None, of_all_rows, None).again == ()


def test_how_arrays_are_read():
    number, strided, odd = Layout((64, 1), None), Layout((64, 512), (1024, 2)), Layout((64, 512), (513, 1))
    ways = variant_of(None, odd, number, strided, addresses=(0, 0, 0, 0)).ways
    assert ways == (Way.PACKS, Way.ADJACENT, Way.ONE, Way.STRIDED)
    assert variant_of(None, None, None, None, addresses=(0, 16, 4, 8)).ways[2:] == (Way.ADJACENT, Way.ADJACENT)


def test_a_result_where_a_source_may_be_read_later_is_written_last():
    assert variant_of(None, None, None, None).late == (1,)
    elsewhere = Layout((64, 512), (600, 1))
    assert variant_of(None, None, elsewhere, None).late == ()


def test_rows_are_shared_in_a_way_for_each_size_of_what_is_reduced():
    wide = Step(UnaryOp.kCast, (2,), DataType.kDouble)
    steps = (*STRUCTURE.steps, wide, Step(ReduceOp.kSum, (6,), DataType.kDouble))
    program = RowProgram(STRUCTURE._replace(steps=steps, results=(5, 2, 7)))
    assert program.sharings == (Sharing(4), Sharing(2))
    assert [part.sharing.elements for part in program.passes] == [4, 2, 4]


def test_a_softmax_is_three_passes_and_joins_those_beside_it():
    """In f(softmax(x y)), the pass that computes x y finds the maximum, and the pass that computes the elements applies
    f.
    """
    steps = Step(BinaryOp.kMul, (0, 1), REAL), Step(RowOp.kSoftmax, (2,), REAL), Step(UnaryOp.kExp, (3,), REAL)
    passes = RowProgram(Structure((REAL, REAL), (), steps, (4,))).passes
    assert [(len(one.tops), len(one.sums), len(one.applied), one.map is not None) for one in passes] == [
        (1, 0, 0, True),
        (0, 1, 0, False),
        (0, 0, 1, True),
    ]
    assert {one.sharing for one in passes} == {Sharing(4, REAL)}


def softmax_and_sum(data_type):
    """A structure whose passes may have different numbers of threads."""
    steps = Step(RowOp.kSoftmax, (0,), data_type), Step(ReduceOp.kSum, (0,), data_type)
    return Structure((data_type,), (), (*steps, Step(BinaryOp.kSub, (1, 2), data_type)), (3,))


@pytest.mark.parametrize(
    ("data_type", "cols", "threads", "block_rows"),
    [
        (REAL, 1000, (32, 32), 8),
        (REAL, 100, (8, 8), 32),
        (REAL, 12, (4, 1), 64),
        (DataType.kBFloat16, 1031, (128, 32), 2),
        (REAL, 8192, (256, 256), 1),
    ],
)
def test_a_block_has_as_many_rows_as_the_most_threads_of_a_pass_leave(data_type, cols, threads, block_rows, cuda, rng):
    """In passes of fewer threads, those that are left have no elements; the bits are those of the primitives."""
    structure = softmax_and_sum(data_type)
    variant = plan_of(structure, None, None, shape=(64, cols)).launch((0, 0), 2**20).variant
    assert (variant.threads, variant.block_rows) == (threads, block_rows)
    for rows in (1, 3, block_rows + 1):
        x = ep.ops.copy_to_device(rng.normal(size=(rows, cols)).astype(data_type.dtype), "cuda")
        out = ep.ops.copy_to_device(np.zeros((rows, cols), data_type.dtype), "cuda")
        expression = RequirePrimitive(ExpressionFactory, DeviceType.kCUDA, structure)
        expression.Launch(cuda.CreateStream(), [out], [x])
        assert bits(host(out)) == bits(host(ep.ops.softmax(x) - ep.ops.sum(x, -1, keepdims=True)))


LOG = Step(RowOp.kLogSoftmax, (0,), REAL)
LIKELIHOOD = Structure((REAL, DataType.kInt32), (), (LOG, Step(ChoiceOp.kElement, (2, 1), REAL)), (3,), reduced=(1,))


def test_an_element_needs_no_pass_over_its_row():
    """A log-softmax of which only elements are needed ends with its second pass."""
    program = RowProgram(LIKELIHOOD)
    assert [(len(one.tops), len(one.sums), len(one.applied)) for one in program.passes] == [(1, 0, 0), (0, 1, 0)]
    (chosen,) = program.chosen
    assert (chosen.sources, [step.written for step in chosen.steps]) == ((0,), [2])
    assert len(RowProgram(LIKELIHOOD._replace(results=(3, 2))).passes) == 3


def test_a_thread_computes_the_elements_of_rows_alone():
    steps = Step(BinaryOp.kMul, (0, 0), REAL), Step(ChoiceOp.kElement, (2, 1), REAL)
    structure = Structure((REAL, DataType.kInt32), (), steps, (3,), reduced=(1,))
    assert RowProgram(structure).parts == RowProgram(structure).chosen
    layouts = Layout((64, 1), None), None, Layout((64, 1), None)
    launch = plan_of(structure, *layouts).launch((0, 0, 0), 2**20)
    assert (launch.variant.threads, launch.variant.block_rows, launch.grid.blocks[0]) == ((1,), 256, 1)
    both = plan_of(structure._replace(results=(2, 3)), None, layouts[0], *layouts[1:]).launch((0,) * 4, 2**20)
    assert both.variant.threads == (32,)


def test_an_element_joins_no_passes_apart():
    """A sum of the same values as an element is in the pass that computes them."""
    steps = (
        Step(BinaryOp.kMul, (0, 0), REAL),
        Step(ChoiceOp.kElement, (2, 1), REAL),
        Step(ReduceOp.kSum, (2,), REAL),
        Step(BinaryOp.kSub, (3, 4), REAL),
    )
    program = RowProgram(Structure((REAL, DataType.kInt32), (), steps, (5,), reduced=(1,)))
    assert [type(part).__name__ for part in program.parts] == ["Pass", "ChosenElement", "Stage"]


@pytest.mark.parametrize("cols", [3, 40, 300])
def test_a_result_where_the_index_is(cols, cuda, rng):
    x = rng.integers(0, 99, (40, cols), np.int32)
    a = rng.integers(0, cols, (40, 1), np.int32)
    steps = Step(BinaryOp.kMul, (0, 0), DataType.kInt32), Step(ChoiceOp.kElement, (2, 1), DataType.kInt32)
    for results in ((3,), (3, 2)):
        structure = Structure((DataType.kInt32,) * 2, (), steps, results, reduced=(1,))
        arrays = [ep.ops.copy_to_device(one, "cuda") for one in (x, a, np.zeros_like(x))]
        expression = RequirePrimitive(ExpressionFactory, DeviceType.kCUDA, structure)
        expression.Launch(cuda.CreateStream(), [arrays[1], arrays[0]][: len(results)], arrays[:2])
        np.testing.assert_array_equal(host(arrays[1]), np.take_along_axis(x * x, a, 1))
        np.testing.assert_array_equal(host(arrays[0]), x * x if len(results) > 1 else x)


@pytest.mark.parametrize("kept", Storage, ids=lambda kept: kept.name)
def test_results_are_the_same_wherever_values_are_kept(kept, shared_memory, rng):
    def function(x, y):
        h = x * y
        d = h - mean(h)
        return h, d * ops.rsqrt(mean(d * d) + 1e-5) + x, ops.sum(x, -1)

    ops = ep.ops
    shared_memory(min(MEMORY[kept], 227 * 1024))
    fused = ep.fuse(function)
    for shape in ((19, 512), (5, 33)):
        x, y = (ops.copy_to_device(rng.random(shape, np.float32), "cuda") for _ in range(2))
        expected = [bits(host(one)) for one in function(x, y)]
        assert [bits(host(one)) for one in fused(x, y)] == expected
    out = ops.copy_to_device(np.zeros(5, np.float32), "cuda")
    assert [bits(host(one)) for one in fused(x, y, out=(x, y, out))] == expected


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("which", [0, 1])
def test_rows_of_one_element_in_place(cuda, rng, dtype, which):
    """The threads of a row do not read the source that one of them overwrites."""
    ops = ep.ops
    for function in (lambda x, y: ops.softmax(x + y), lambda x, y: ops.softmax(ops.softmax(x) * y) + x):
        for rows in (1, 5, 37):
            arrays = [rng.normal(size=(rows, 1)).astype(dtype) for _ in range(2)]
            expected = ops.copy_to_host(function(*(ops.copy_to_device(array, "cuda") for array in arrays)))
            operands = [ops.copy_to_device(array, "cuda") for array in arrays]
            ep.fuse(function, round_each=True)(*operands, out=operands[which])
            assert ops.copy_to_host(operands[which]).tobytes() == expected.tobytes()
