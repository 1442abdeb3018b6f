"""The device on which operators run, and devices that other packages add."""

import numpy as np
import pytest

import ep.ops
from ep import DeviceManagerRegistry, DeviceType
from ep.common.arrays.host import HostArrays
from ep.cpu.device_manager import CpuDeviceManager
from ep.include import DeviceArrays
from tests.include.conftest import toy as toy
from tests.subprocesses import run


class FooArray:
    """An array of a device that is unknown to this package; its memory is a list of numbers on the host."""

    def __init__(self, array):
        self.array = np.array(array)
        self.shape, self.dtype, self.size = self.array.shape, self.array.dtype, self.array.size


class FooArrays(HostArrays):
    """Operators on FooArrays, computed by the CPU's primitives on the contents of these arrays."""

    def __init__(self, index, device_type=DeviceType.kCPU):
        super().__init__(device_type, f"foo:{index}")

    def as_buffer(self, value, argument):
        return value.array

    def delivered(self, result, out):
        return FooArray(result)


class FooDeviceArrays(DeviceArrays):
    def recognises(self, value):
        return isinstance(value, FooArray)

    def index_of(self, value):
        return 0

    def on(self, device_index):
        return FooArrays(device_index)


@pytest.fixture
def foo(toy):
    """A device type with its own arrays, which its manager provides."""

    class Manager(CpuDeviceManager):
        def arrays(self):
            return FooDeviceArrays()

    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, Manager)
    return toy


def test_a_device_of_another_package(foo):
    x = FooArray([-1.0, 2.0])
    assert ep.ops.relu(x).array.tolist() == [0, 2]
    assert ep.ops.sub(x, 1).array.tolist() == [-2, 1]
    for number in (np.float64(1), np.array(1)):
        assert ep.ops.sub(x, number).array.tolist() == [-2, 1]
    assert ep.ops.gather(x, FooArray([1])).array.tolist() == [2]
    assert ep.ops.copy_to_device([1.0], foo).tolist() == [1]
    assert ep.ops.copy_to_host(x).tolist() == [-1, 2]


def test_operands_on_different_devices(foo):
    x = FooArray([-1.0, 2.0])
    message = r"y \(ndarray\) is on the host, x is on foo:0; bring one of them to where the other is first"
    with pytest.raises(TypeError, match=message):
        ep.ops.add(x, np.ones(2))
    with pytest.raises(TypeError, match=r"indices \(list\) is on the host, params is on foo:0"):
        ep.ops.gather(x, [0])
    with pytest.raises(TypeError, match=r"y \(FooArray\) is on foo:0, x is on the host"):
        ep.ops.add(np.ones(2), x)
    with pytest.raises(TypeError, match=r"out must be a numpy\.ndarray, not FooArray"):
        ep.ops.relu(np.ones(2), out=x)


def test_devices_without_operators(toy):
    """Devices without a manager, and devices whose manager provides no arrays."""
    with pytest.raises(ValueError, match="operators do not run on toy; they run on cpu, cuda"):
        ep.ops.copy_to_device([1], toy)

    class Manager(CpuDeviceManager):
        def arrays(self):
            return None

    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, Manager)
    with pytest.raises(ValueError, match="operators do not run on toy; they run on cpu, cuda"):
        ep.ops.copy_to_device([1], "toy")
    with pytest.raises(ValueError, match="device_type 'gpu' is not known"):
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


@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (1001, 3)], ids=str)
def test_copies_in_host_memory_begin_with_a_line(shape):
    given = np.array(np.arange(np.prod(shape), dtype=np.float32).reshape(shape), order="F")
    copy = ep.ops.copy_to_device(given, "cpu")
    np.testing.assert_array_equal(copy, given, strict=True)
    assert copy.flags.c_contiguous
    assert copy.size == 0 or copy.ctypes.data % 64 == 0
    assert not np.may_share_memory(copy, given)


def test_what_a_device_cannot_fill_is_said_in_words_of_the_operator(toy):
    class ToyDeviceArrays(FooDeviceArrays):
        def on(self, device_index):
            return FooArrays(device_index, toy)

    class Manager(CpuDeviceManager):
        def arrays(self):
            return ToyDeviceArrays()

    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, Manager)
    words = r"^full has no kernel for out float32 on toy: Fill\(kFloat\) on toy is not supported"
    with pytest.raises(ep.UnsupportedPrimitiveError, match=words):
        ep.ops.full(3, 1, "float32", device=toy)
    words = "^relu has no kernel for x float32, out float32 on toy: ElementwiseUnary"
    with pytest.raises(ep.UnsupportedPrimitiveError, match=words):
        ep.ops.relu(FooArray(np.ones(3, np.float32)))
