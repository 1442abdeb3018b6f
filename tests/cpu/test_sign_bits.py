"""Ops that bfloat16 kernels compute with integer operations on the bits, over all values."""

import ml_dtypes
import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.include.primitive import ElementwiseUnaryFactory

REFERENCES = {
    UnaryOp.kIdentity: lambda x: x,
    UnaryOp.kAbs: np.abs,
    UnaryOp.kNegative: np.negative,
    UnaryOp.kRelu: lambda x: np.where(x <= 0, np.float32(0), x),
}


@pytest.mark.parametrize("op", REFERENCES, ids=lambda op: op.name)
def test_every_value(op):
    x = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    got = np.empty_like(x)
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    primitive = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, op, "bfloat16", "bfloat16")
    primitive.Launch(stream, x, got, x.size)
    wide = x.astype(np.float32)
    want, nan = REFERENCES[op](wide), np.isnan(wide)
    assert np.isnan(got[nan].astype(np.float32)).all()
    # the upper half of a float32 is the bfloat16
    assert (got.view(np.uint16)[~nan] == (want.view(np.uint32) >> 16)[~nan]).all()
