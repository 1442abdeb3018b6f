"""Gradients at the ends of the range, launched on every floating-point type."""

import numpy as np
import pytest

from ep import BinaryOp
from ep.include.number_kind import FLOATS
from ep.include.primitive import BroadcastElementwiseBinaryFactory
from ep.include.primitive.op_table import attributes_of
from ep.testing import tolerances
from ep.testing.agreement import check_binary
from tests.extremes import dys, worst_of, xs

REQUIRED = {
    BinaryOp.kThresholdBackwardWithDyX: (0.25,),
    BinaryOp.kScalarBasePowerGrad: (2.5,),
    BinaryOp.kScalarExpPowerGrad: (1.5,),
}
POWER_GRADS = [BinaryOp.kScalarBasePowerGrad, BinaryOp.kScalarExpPowerGrad]
GRADIENTS = [*POWER_GRADS, *(op for op in BinaryOp if "Backward" in op.name)]


@pytest.mark.parametrize("data_type", sorted(FLOATS, key=lambda data_type: data_type.name), ids=lambda t: t.name)
@pytest.mark.parametrize("op", GRADIENTS, ids=lambda op: op.name)
def test_extremes(device, op, data_type):
    attributes = REQUIRED.get(op) or tuple(attribute.default for attribute in attributes_of(op))
    primitive = device.require(BroadcastElementwiseBinaryFactory, op, data_type, data_type, 1, *attributes)

    def launch(dy, x):
        a, b = (x, dy) if op in POWER_GRADS else (dy, x)
        dst = device.empty(dy.size, data_type)
        primitive.Launch(device.stream, a.shape, device.buffer(a), b.shape, device.buffer(b), dst)
        return device.array(dst)

    dy, x = dys(data_type.dtype), xs(data_type.dtype, op)
    if device.simulated:
        dy, x = dy[::3], x[::5]
    scalar_type = np.float64 if data_type.dtype == np.float64 else np.float32
    bound = tolerances.launch_ulps(tolerances.binary_ulps(op, scalar_type, device.library), data_type, data_type.dtype)
    error, what = worst_of(op, launch, dy, x, attributes)
    assert error <= bound, f"{what}, {bound} allowed"


EXPONENTIAL = [BinaryOp[f"k{name}BackwardWithDyX"] for name in ("Exp", "Exp2", "Expm1", "Sinh", "Cosh")]


@pytest.mark.parametrize("data_type", sorted(FLOATS, key=lambda data_type: data_type.name), ids=lambda t: t.name)
@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        *((op, ()) for op in EXPONENTIAL),
        *((BinaryOp.kScalarBasePowerGrad, (exponent,)) for exponent in (3.0, -3.0, 0.25)),
        *((BinaryOp.kScalarExpPowerGrad, (base,)) for base in (3.1, 0.2)),
    ],
)
@pytest.mark.parametrize("factor", [0, np.inf])
def test_zero_times_infinity_is_nan(device, op, attributes, factor, data_type):
    """0 times infinity is NaN, whichever of dy and the slope is 0; not if the slope only rounds to 0 or infinity."""
    x = np.array([np.inf, -np.inf, 0, 50, -50]).astype(data_type.dtype)
    if op is BinaryOp.kScalarBasePowerGrad:
        x = np.abs(x)
    dy = np.full(x.size, factor, data_type.dtype)
    a, b = (x, dy) if op in POWER_GRADS else (dy, x)
    primitive = device.require(BroadcastElementwiseBinaryFactory, op, data_type, data_type, 1, *attributes)
    dst = device.empty(x.size, data_type)
    primitive.Launch(device.stream, a.shape, device.buffer(a), b.shape, device.buffer(b), dst)
    check_binary(device.library, op, data_type, device.array(dst), a, b, attributes)
