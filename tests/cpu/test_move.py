"""The move engine beyond Expand and Gather: a primitive whose data type comes at Launch."""

import math

import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType
from ep.common.primitive.broadcast import StridedWalk, simplify_walk
from ep.common.primitive.signature import Signature, reads, writes
from ep.common.primitive.strides import contiguous_strides
from ep.cpu.engine.move.plan import move_plan
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include import DataType
from ep.include.primitive import Permute
from ep.include.primitive.primitive import Request
from tests.subprocesses import run

T = DataType


class PermuteImpl(PlannedPrimitive, Permute):
    """What Permute takes on the CPU, but for checks of dims and permutation, and for speed."""

    signature = Signature((reads("src", None, "count"), writes("dst", None, "count")), sizes=("count",))

    def _compile(self):
        from ep.cpu.engine.move.entry import move_entry

        return move_entry("permute", self.signature, self._state)

    def Launch(self, stream, data_type, num_dims, src_dims, src, permutation, dst):
        dims, types = (src_dims, permutation), (data_type, data_type)
        plan = self._plans.get((dims, types))
        if plan is None or self._entry(self._words, plan.words, dims, src, dst):
            dst_dims = tuple(src_dims[axis] for axis in permutation)
            src_strides = tuple(contiguous_strides(src_dims)[axis] for axis in permutation)
            counts = (math.prod(dst_dims),)

            def make():
                walk = StridedWalk(*simplify_walk(dst_dims, src_strides, contiguous_strides(dst_dims)))
                return move_plan(self.signature, walk, data_type, counts, types)

            self._launch_planned(stream, dims, counts, (src, dst), make, types)


@pytest.mark.parametrize("data_type", [T.kInt8, T.kFloat16, T.kFloat, T.kComplex128], ids=lambda t: t.name)
def test_permute(rng, data_type):
    primitive = PermuteImpl(Request(Permute, None, None, 8))
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    for num_dims in (0, 1, 2, 3, 5, 8):
        for _ in range(3):
            dims = tuple(int(size) for size in rng.integers(1, 5 if num_dims > 3 else 30, num_dims))
            permutation = tuple(int(axis) for axis in rng.permutation(num_dims))
            for other in (data_type, T.kDouble):  # one primitive for all types
                source = np.asarray(rng.integers(0, 100, dims), other.dtype)
                dst = np.zeros(math.prod(dims), other.dtype)
                for _ in range(2):
                    primitive.Launch(stream, other, num_dims, dims, source, permutation, dst)
                    assert (dst == np.transpose(source, permutation).reshape(-1)).all()
    with pytest.raises(TypeError, match="src has dtype int8"):
        primitive.Launch(stream, T.kFloat, 1, (3,), np.zeros(3, np.int8), (0,), np.zeros(3, np.float32))
    square = np.zeros((3, 3), np.float32)
    with pytest.raises(ValueError, match="dst is the memory of src, which this launch cannot work in"):
        primitive.Launch(stream, T.kFloat, 2, (3, 3), square, (1, 0), square)


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
