"""An element has the same bits at any position: in a vector, a remainder or a tile, alone, with a scalar operand."""

import numpy as np
import pytest

from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.cpu.kernels.functors import is_light
from ep.cpu.machine.calibration import NEVER, everywhere
from ep.include.number_kind import FLOATS
from ep.include.primitive import (
    BroadcastElementwiseBinary,
    BroadcastElementwiseBinaryFactory,
    ElementwiseUnary,
    ElementwiseUnaryFactory,
    registered,
)
from ep.testing.samples import dense, finite

COUNT = 16_411  # more than one GRAIN, and not a multiple of a vector width
GRAIN = 4_001
PARTS = [(0, 1), (0, 7), (1, 1), (5, 331), (16, 64), (333, 19), (4_000, 37), (COUNT - 41, 41), (COUNT - 1, 1)]
ALONE = range(0, COUNT, 113)
REQUIRED = {
    UnaryOp.kThreshold: (0.25, -1.5),
    BinaryOp.kThresholdBackwardWithDyX: (0.25,),
    BinaryOp.kScalarBasePowerGrad: (2.7,),
    BinaryOp.kScalarExpPowerGrad: (1.5,),
}


def keys(interface):
    entries = (entry for entry in registered(DeviceType.kCPU) if entry.interface is interface)
    return [(entry.op, *entry.dtypes) for entry in entries if entry.dtypes[0] in FLOATS]


def streams(key):
    """Return whether a test of `key` writes with non-temporal stores.

    An op that has another kernel for such stores does for one of its types only: a functor decides which of its
    operations are fused before that kernel is made, and the stores depend only on the type.
    """
    op, src_type, _ = key
    return not is_light(op, src_type) or src_type is FLOATS[list(type(op)).index(op) % len(FLOATS)]


def name(key):
    return "-".join(part.name for part in key)


@pytest.fixture
def cpu():
    """Yield the device with three threads; restore its settings afterwards."""
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    threads = device.GetNumThreads()
    device.SetNumThreads(3)
    yield device
    device.force_calibration(None)
    device.SetNumThreads(threads)


def numbers(rng, src_type):
    """Return numbers of which half have any magnitude, also beyond the limits of the vectorised functions."""
    if src_type.itemsize == 2:
        anywhere = np.arange(2**16, dtype=np.uint16).view(src_type.dtype)
    else:
        anywhere = dense(src_type.dtype.type, COUNT)
    x = np.concatenate([rng.choice(anywhere, COUNT // 2), finite(rng, src_type, COUNT - COUNT // 2)])
    # in long runs of each half, so that some blocks have only ordinary elements
    order = np.argsort(rng.random(COUNT // 1_500 + 1)[np.arange(COUNT) // 1_500], kind="stable")
    return x[order]


def bits(values):
    """Return the bits as integers, the same ones for every NaN."""
    values = values.copy()
    parts = values.view(values.real.dtype) if values.dtype.kind == "c" else values
    with np.errstate(invalid="ignore"):
        parts[parts != parts] = 0
    return parts.view(f"u{parts.itemsize}").reshape(values.size, -1)


def check(cpu, key, primitive, launch):
    """Check that all launches give the same bits. launch(part): returns the results of a launch of only this part."""
    cpu.force_calibration(everywhere(NEVER))
    whole = bits(launch(slice(None)))
    for start, length in [*PARTS, *((place, 1) for place in ALONE)]:
        assert (bits(launch(slice(start, start + length))) == whole[start : start + length]).all(), (start, length)
    primitive._state.set(grain=GRAIN)
    assert (bits(launch(slice(None))) == whole).all(), "shared by threads"
    if streams(key):
        cpu.force_calibration(everywhere(0))
        assert (bits(launch(slice(None))) == whole).all(), "streamed"
    return whole


@pytest.mark.parametrize("key", keys(ElementwiseUnary), ids=name)
def test_unary(cpu, key, rng):
    op, src_type, dst_type = key
    primitive = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, *key, *REQUIRED.get(op, ()))
    stream, x = cpu.CreateStream(), numbers(rng, src_type)

    def launch(part):
        src = np.ascontiguousarray(x[part])
        dst = np.empty(src.size, dst_type.dtype)
        primitive.Launch(stream, src, dst, src.size)
        return dst

    check(cpu, key, primitive, launch)


@pytest.mark.parametrize("key", keys(BroadcastElementwiseBinary), ids=name)
def test_binary(cpu, key, rng):
    op, src_type, dst_type = key
    primitive = RequirePrimitive(BroadcastElementwiseBinaryFactory, DeviceType.kCPU, *key, 1, *REQUIRED.get(op, ()))
    stream, (a, b) = cpu.CreateStream(), (numbers(rng, src_type), numbers(rng, src_type))

    def launch(part, other=None):
        src0, src1 = (np.ascontiguousarray(operand[where]) for operand, where in ((a, part), (b, other or part)))
        dst = np.empty(max(src0.size, src1.size), dst_type.dtype)
        primitive.Launch(stream, src0.shape, src0, src1.shape, src1, dst)
        return dst

    whole = check(cpu, key, primitive, launch)
    for start in ALONE:
        one, row = slice(start, start + 1), slice(start, start + 37)
        assert (bits(launch(row, one))[0] == whole[start]).all()
        assert (bits(launch(one, row))[0] == whole[start]).all()
