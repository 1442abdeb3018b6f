"""Plans of the map engine and of the move engine."""

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
