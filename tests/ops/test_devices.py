"""On which device operators run, and devices that other packages add."""

import numpy as np
import pytest

import ep.ops
from ep import DeviceType
from ep.ops import devices
from ep.ops.cpu.arrays import CpuArrays
from tests.subprocesses import run


class FooArray:
    """An array of a device of which this package knows nothing; its memory is a list of numbers of the host."""

    def __init__(self, array):
        self.array = np.array(array)
        self.shape, self.dtype, self.size = self.array.shape, self.array.dtype, self.array.size


class FooArrays(CpuArrays):
    """Operators on FooArrays, computed by the CPU's primitives on what they hold."""

    place = "foo:0"

    def as_buffer(self, value, argument):
        return value.array

    def delivered(self, result, out):
        return FooArray(result)


@pytest.fixture
def foo(monkeypatch):
    monkeypatch.setattr(devices, "_providers", dict(devices._providers))
    monkeypatch.setattr(DeviceType, "_by_name", dict(DeviceType._by_name))
    device_type = DeviceType.Register("kFoo", "foo")
    ep.ops.devices.register_arrays(
        device_type, lambda value: isinstance(value, FooArray), lambda value: FooArrays(), lambda index: FooArrays()
    )
    yield device_type
    del DeviceType.kFoo


def test_a_device_of_another_package(foo):
    x = FooArray([-1.0, 2.0])
    assert ep.ops.relu(x).array.tolist() == [0, 2]
    assert ep.ops.sub(x, 1).array.tolist() == [-2, 1]
    assert ep.ops.gather(x, FooArray([1])).array.tolist() == [2]
    assert ep.ops.copy_to_device([1.0], foo).tolist() == [1]
    assert ep.ops.copy_to_host(x).tolist() == [-1, 2]


def test_operands_on_different_devices(foo):
    x = FooArray([-1.0, 2.0])
    message = r"y \(ndarray\) is on the host, x is on foo:0; copy one of them to the other's device first"
    with pytest.raises(TypeError, match=message):
        ep.ops.add(x, np.ones(2))
    with pytest.raises(TypeError, match=r"indices \(list\) is on the host, params is on foo:0"):
        ep.ops.gather(x, [0])
    with pytest.raises(TypeError, match=r"y \(FooArray\) is on foo:0, x is on the host"):
        ep.ops.add(np.float32(1), x)
    with pytest.raises(TypeError, match=r"out must be a numpy\.ndarray, not FooArray"):
        ep.ops.relu(np.ones(2), out=x)


def test_devices_without_operators(monkeypatch):
    monkeypatch.setattr(devices, "_providers", {})
    with pytest.raises(ValueError, match="operators do not run on cuda; they run on cpu"):
        ep.ops.copy_to_device([1], "cuda")
    with pytest.raises(ValueError, match="device 'gpu' is not known"):
        ep.ops.copy_to_device([1], "gpu")


def test_copies_on_the_cpu():
    x = np.arange(6.0).reshape(2, 3)
    for copy in (ep.ops.copy_to_device(x.T, "cpu"), ep.ops.copy_to_host(x.T)):
        assert type(copy) is np.ndarray
        assert copy.flags.c_contiguous
        assert np.array_equal(copy, x.T)
        assert not np.shares_memory(copy, x)


def test_operands_that_cannot_say_where_they_are():
    class Meta:
        def __dlpack__(self):
            raise BufferError("no memory")

        def __dlpack_device__(self):
            raise ValueError("no device")

    with pytest.raises(TypeError, match=r"x \(.*Meta\) cannot be read through DLPack"):
        ep.ops.relu(Meta())


def test_the_host_needs_no_other_device():
    code = "import sys, numpy, ep.ops; ep.ops.relu(numpy.ones(2)); ep.ops.relu([1]); print('ep.cuda' in sys.modules)"
    assert run(code).strip() == "False"
