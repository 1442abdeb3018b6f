"""Ops with an attribute in an exponent, launched with random attributes on every floating-point type.

The attributes have more digits than float32, and the operands reach to where the results vanish or overflow: a
rounding error of a product in the exponent is multiplied by that exponent there.
"""

import numpy as np
import pytest

from ep import BinaryOp, UnaryOp
from ep.include.number_kind import FLOATS
from ep.include.primitive import BroadcastElementwiseBinaryFactory, ElementwiseUnaryFactory
from ep.testing.agreement import check_binary, check_unary
from ep.testing.samples import sized

REACH = {2: 80, 4: 85, 8: 700}
"""The largest exponent of a normal number, by the bytes of an element."""

SOFT_PLUS = [UnaryOp.kSoftPlus, BinaryOp.kSoftplusBackwardWithDyX]

SLOPES = {
    UnaryOp.kCelu: lambda alpha: 1 / alpha,
    UnaryOp.kSoftPlus: lambda beta: beta,
    BinaryOp.kSoftplusBackwardWithDyX: lambda beta: beta,
    BinaryOp.kScalarExpPowerGrad: np.log,
}
"""The factor of x in the exponent; 1 in the other ops."""


def draw(rng, op):
    """Return one or two random attributes."""
    first = float(np.exp(rng.uniform(-2, 2)))
    return (first, 20.0) if op in SOFT_PLUS else (first,)


def numbers(rng, op, data_type, attributes, count):
    """Return operands that give exponents of any size."""
    reach = REACH[data_type.itemsize]
    exponents = np.concatenate([rng.uniform(-reach, reach, count), rng.uniform(-3, 3, count)])
    if op is BinaryOp.kScalarBasePowerGrad:
        with np.errstate(over="ignore"):
            return np.exp(exponents / max(2, abs(attributes[0] - 1))).astype(data_type.dtype)
    return (exponents / SLOPES.get(op, lambda _: 1)(attributes[0])).astype(data_type.dtype)


@pytest.mark.parametrize("data_type", sorted(FLOATS, key=lambda data_type: data_type.name), ids=lambda t: t.name)
@pytest.mark.parametrize("op", [UnaryOp.kElu, UnaryOp.kCelu, UnaryOp.kSoftPlus], ids=lambda op: op.name)
def test_unary(device, rng, op, data_type):
    for _ in range(3):
        attributes = draw(rng, op)
        x = numbers(rng, op, data_type, attributes, sized(device, 1009, 53))
        primitive = device.require(ElementwiseUnaryFactory, op, data_type, data_type, *attributes)
        dst = device.empty(x.size, data_type)
        primitive.Launch(device.stream, device.buffer(x), dst, x.size)
        check_unary(device.library, op, data_type, device.array(dst), x, attributes)


@pytest.mark.parametrize("data_type", sorted(FLOATS, key=lambda data_type: data_type.name), ids=lambda t: t.name)
@pytest.mark.parametrize(("beta", "threshold"), [(0.1, 1.0), (-0.1, -1.0), (0.3, 3.0), (-0.3, -3.0)])
@pytest.mark.parametrize("op", SOFT_PLUS, ids=lambda op: op.name)
def test_unrounded_products_are_compared_with_the_threshold(device, op, beta, threshold, data_type):
    """The float32 product 10 beta rounds to the threshold, from above or from below."""
    x, dy = np.array([10], data_type.dtype), np.array([1], data_type.dtype)
    dst = device.empty(1, data_type)
    if op is UnaryOp.kSoftPlus:
        primitive = device.require(ElementwiseUnaryFactory, op, data_type, data_type, beta, threshold)
        primitive.Launch(device.stream, device.buffer(x), dst, 1)
        check_unary(device.library, op, data_type, device.array(dst), x, (beta, threshold))
    else:
        primitive = device.require(BroadcastElementwiseBinaryFactory, op, data_type, data_type, 1, beta, threshold)
        primitive.Launch(device.stream, (1,), device.buffer(dy), (1,), device.buffer(x), dst)
        check_binary(device.library, op, data_type, device.array(dst), dy, x, (beta, threshold))


BINARY = [
    *(BinaryOp.kEluBackwardWithDyX, BinaryOp.kCeluBackwardWithDyY, BinaryOp.kSoftplusBackwardWithDyX),
    *(BinaryOp.kScalarBasePowerGrad, BinaryOp.kScalarExpPowerGrad),
]


@pytest.mark.parametrize("data_type", sorted(FLOATS, key=lambda data_type: data_type.name), ids=lambda t: t.name)
@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
def test_binary(device, rng, op, data_type):
    for _ in range(3):
        attributes = draw(rng, op)
        x = numbers(rng, op, data_type, attributes, sized(device, 1009, 53))
        dy = rng.uniform(1, 2, x.size).astype(data_type.dtype)
        a, b = (x, dy) if "Power" in op.name else (dy, x)
        primitive = device.require(BroadcastElementwiseBinaryFactory, op, data_type, data_type, 1, *attributes)
        dst = device.empty(x.size, data_type)
        primitive.Launch(device.stream, a.shape, device.buffer(a), b.shape, device.buffer(b), dst)
        check_binary(device.library, op, data_type, device.array(dst), a, b, attributes)
