"""Gradients have the same bits wherever an element lies: in a vector, left over, next to a single operand."""

import numpy as np
import pytest

from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep.include.primitive import BroadcastElementwiseBinaryFactory

BACKWARD = [op for op in BinaryOp if "Backward" in op.name]
COUNT, PART = 331, 7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", BACKWARD, ids=lambda op: op.name)
def test_same_bits(op, dtype, rng):
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    threshold = {"attr0": 0.3} if op is BinaryOp.kThresholdBackwardWithDyX else {}
    primitive = RequirePrimitive(BroadcastElementwiseBinaryFactory, DeviceType.kCPU, op, dtype, dtype, 1, **threshold)

    def launch(dy, x):
        dx = np.empty(max(dy.size, x.size), dtype)
        primitive.Launch(stream, dy.shape, dy, x.shape, x, dx)
        return dx.view(f"u{dx.itemsize}")

    dy, x = rng.standard_normal((2, COUNT)).astype(dtype)
    whole = launch(dy, x)
    for start in range(0, COUNT, PART):
        part = slice(start, start + PART)
        assert (launch(dy[part], x[part]) == whole[part]).all()
        assert launch(dy[part], x[start : start + 1])[0] == whole[start]
        assert launch(dy[start : start + 1], x[part])[0] == whole[start]
