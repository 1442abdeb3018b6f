"""Kernels for the rows of expressions: what they keep, and where, and when they write."""

import numpy as np
import pytest

import ep
from ep.cuda.device.stream import CudaStream
from ep.cuda.engine.map.expression_plan import Layout
from ep.cuda.engine.reduce.row_expression_plan import MEETING_BYTES, Kept, RowPlan, Way
from ep.cuda.engine.reduce.row_program import RowProgram
from ep.include import DataType
from ep.include.primitive import BinaryOp, ReduceOp, UnaryOp
from ep.include.primitive.structure import Step, Structure
from ep.ops import copy_to_host as host
from tests.fuse.test_random_graphs import bits
from tests.fuse.test_rows import mean

REAL = DataType.kFloat
# h = x y; (h - sum(h)) x and h are the results
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
MEMORY = {Kept.SOURCES: 2**20, Kept.VALUES: MEETING_BYTES + 8 * 4 * 513, Kept.MEMORY: 2**10}
"""The bytes of shared memory with which rows of 512 float32, of which h alone or h and x are kept, are there."""


def plan_of(structure, *layouts, shape=(64, 512)):
    return RowPlan(RowProgram(structure), [layout or Layout(shape, None) for layout in layouts], shape)


def variant_of(*layouts, addresses=(0, 0, 0, 0), shared_bytes=2**20):
    return plan_of(STRUCTURE, *layouts).launch(addresses, shared_bytes).variant


def test_what_a_row_keeps_and_where():
    for kept, shared_bytes in MEMORY.items():
        launch = plan_of(STRUCTURE, None, None, None, None).launch((0,) * 4, shared_bytes)
        assert launch.variant.kept is kept
        assert (launch.kept_bytes > 0) == (kept is Kept.MEMORY)
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


def test_a_width_for_each_size_of_what_is_reduced():
    wide = Step(UnaryOp.kCast, (2,), DataType.kDouble)
    steps = (*STRUCTURE.steps, wide, Step(ReduceOp.kSum, (6,), DataType.kDouble))
    program = RowProgram(STRUCTURE._replace(steps=steps, results=(5, 2, 7)))
    assert program.widths == (4, 2)
    assert [part.elements for part in program.passes] == [4, 2, 4]


@pytest.mark.parametrize("kept", Kept, ids=lambda kept: kept.name)
def test_results_are_the_same_wherever_values_are_kept(kept, cuda, monkeypatch, rng):
    def function(x, y):
        h = x * y
        d = h - mean(h)
        return h, d * ops.rsqrt(mean(d * d) + 1e-5) + x, ops.sum(x, -1)

    ops = ep.ops
    monkeypatch.setattr(CudaStream, "shared_bytes", MEMORY[kept])
    fused = ep.fuse(function)
    for shape in ((19, 512), (5, 33)):
        x, y = (ops.copy_to_device(rng.random(shape, np.float32), "cuda") for _ in range(2))
        expected = [bits(host(one)) for one in function(x, y)]
        assert [bits(host(one)) for one in fused(x, y)] == expected
    out = ops.copy_to_device(np.zeros(5, np.float32), "cuda")
    assert [bits(host(one)) for one in fused(x, y, out=(x, y, out))] == expected
