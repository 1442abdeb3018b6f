"""Plans of the map engine and of the move engine."""

import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.common.primitive.broadcast import StridedWalk
from ep.cpu.engine.move.row_writer import transposed, transposing_writers
from ep.include.primitive import CopyNdFactory
from tests.subprocesses import run


def test_making_a_plan_compiles_nothing():
    """Nor does it import what would: plans name what must be compiled."""
    code = """
import sys
from ep.common.primitive import signatures
from ep.common.primitive.expand_shape import as_expand_shape
from ep.cpu.engine.map.plan import broadcast_plan
from ep.cpu.engine.move.plan import move_plan
from ep.include import DataType
types = (DataType.kFloat,) * 3
plan = broadcast_plan(signatures.BROADCAST_ELEMENTWISE_BINARY, ((50, 3, 1), (3, 2)), types)
assert [move.writer.kind for move in plan.moves] == ["each", "repeat_tiny"], plan.moves
shape = as_expand_shape((5, 1, 4), (5, 3, 4), None, None, 8)
assert move_plan(signatures.EXPAND, shape.walk(), types[0], shape.counts()).writer == ("each", 16, 3)
assert not {"numba", "llvmlite"} & sys.modules.keys()
"""
    run(code)


def test_launches_of_different_dims_take_turns(rng):
    """Found by what the last two launches had, or by hashing; a plan that was replaced is found no more."""
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    copy = RequirePrimitive(CopyNdFactory, DeviceType.kCPU, 2)
    parts = [
        rng.integers(0, 99, (7, width)).astype(dtype) for width, dtype in ((3, "i4"), (5, "i4"), (3, "f4"), (1, "i4"))
    ]
    total = np.dtype("i4")
    for _ in range(3):
        out, begin = np.zeros((7, 12), total), 0
        for part in parts:
            width = part.shape[1]
            position, whole = (0, begin), out.view(part.dtype)
            copy.Launch(stream, part.dtype, whole, whole.shape, position, part, part.shape, (0, 0), part.shape)
            begin += width
        assert out.tobytes() == np.hstack([part.view(total) for part in parts]).tobytes()


def test_a_box_that_moves_within_one_array_at_several_distances(rng):
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    copy = RequirePrimitive(CopyNdFactory, DeviceType.kCPU, 2)
    memory, dims = rng.integers(0, 99, 400), (4, 10)
    for shift in (0, 40, 0, 80, 40, 80):
        src, dst = memory[:40], memory[shift : shift + 40]
        expected = memory.copy()
        expected[shift : shift + 40].reshape(dims)[:, 5:] = src.reshape(dims)[:, :5]
        copy.Launch(stream, memory.dtype, dst, dims, (0, 5), src, dims, (0, 0), (4, 5))
        assert (memory == expected).all()


@pytest.mark.parametrize("streamed_from", [0, 2**62])
def test_writers_of_transposed_blocks_are_among_those_that_are_prepared(streamed_from):
    """By what they are called in the cache, where True is not 1."""
    _, writer = transposed(StridedWalk((99, 101), (1, 99), (101, 1)), 4, streamed_from)
    assert repr(writer) in map(repr, transposing_writers(1, 16))
