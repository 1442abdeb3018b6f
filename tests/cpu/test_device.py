"""The CPU device: its manager, memory, streams, events, and the number of threads."""

import numpy as np
import pytest

from ep import ActiveDeviceGuard, AllocationOptions, DeviceManagerRegistry, DeviceType, DeviceUnavailableError
from ep.include import Device, Event, Stream
from tests.subprocesses import run


@pytest.fixture
def cpu():
    return DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)


def test_there_is_one_cpu(cpu):
    assert DeviceManagerRegistry.GetDeviceCount(DeviceType.kCPU) == 1
    assert isinstance(cpu, Device)
    assert cpu is DeviceManagerRegistry.GetDevice(DeviceType.kCPU)
    assert (cpu.device_type(), cpu.device_index()) == (DeviceType.kCPU, 0)
    assert cpu.device_manager() is DeviceManagerRegistry.GetDeviceManager(DeviceType.kCPU)
    with pytest.raises(DeviceUnavailableError, match="device_index is 1; there is one CPU device"):
        DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 1)
    with pytest.raises(TypeError, match=r"device_index must be an integer, not 0\.0"):
        DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0.0)


@pytest.mark.parametrize("size", [1, 511, 512, 100_003])
def test_memory_is_aligned(cpu, size):
    options = AllocationOptions()
    buffer = cpu.Alloc(options, size)
    assert (buffer.dtype, buffer.shape, buffer.ctypes.data % 512) == (np.uint8, (size,), 0)
    buffer[:] = 7
    cpu.Free(options, buffer)
    pinned = cpu.AllocPinned(options, size)
    assert pinned.ctypes.data % 512 == 0
    cpu.FreePinned(options, pinned)


def test_no_memory_at_all(cpu):
    assert cpu.Alloc(AllocationOptions(), 0).view(np.float32).shape == (0,)


def test_memory_that_cannot_be_had(cpu):
    with pytest.raises(ValueError, match="size is -1"):
        cpu.Alloc(AllocationOptions(), -1)
    with pytest.raises(TypeError):
        cpu.Alloc(AllocationOptions(), 1.5)
    with pytest.raises(MemoryError):
        cpu.Alloc(AllocationOptions(), 2**60)
    with pytest.raises(ValueError, match="numa_node_affinity is 0"):
        cpu.Alloc(AllocationOptions(numa_node_affinity=0), 8)
    with pytest.raises(DeviceUnavailableError):
        cpu.Alloc(AllocationOptions(pinned_device_type=DeviceType.kCUDA), 8)
    with pytest.raises(TypeError, match="buffer must be"):
        cpu.Free(AllocationOptions(), None)


def test_streams_and_events(cpu):
    stream = cpu.CreateStream()
    assert isinstance(stream, Stream)
    assert (stream.device(), stream.device_type()) == (cpu, DeviceType.kCPU)
    begin, end = cpu.CreateEvents(2)
    assert isinstance(begin, Event)
    assert begin.QueryDone()
    with pytest.raises(ValueError, match="must have been recorded"):
        begin.ElapsedTime(end)
    stream.RecordEvent(begin)
    stream.WaitEvent(begin)
    stream.RecordEvent(end)
    end.Sync()
    stream.Sync()
    assert begin.ElapsedTime(end) >= 0
    assert stream.GetAsyncError() is None
    buffer = stream.AllocAsync(64)
    assert buffer.nbytes == 64
    stream.FreeAsync(buffer)
    with pytest.raises(TypeError, match="event must be an event of the CPU"):
        stream.RecordEvent(None)
    cpu.DestroyEvents([begin, end])
    cpu.DestroyStream(stream)
    with pytest.raises(TypeError, match="stream must be a stream of the CPU"):
        cpu.DestroyStream(None)


def test_the_active_device(cpu):
    with ActiveDeviceGuard(cpu) as device:
        assert device is cpu
        assert cpu.device_manager().GetActiveDeviceIndex() == 0


def test_the_number_of_threads(cpu):
    before = cpu.GetNumThreads()
    try:
        cpu.SetNumThreads(3)
        assert cpu.GetNumThreads() == 3
        for wrong, error in ((0, ValueError), (-1, ValueError), (2**70, ValueError), (1.5, TypeError)):
            with pytest.raises(error):
                cpu.SetNumThreads(wrong)
        assert cpu.GetNumThreads() == 3
    finally:
        cpu.SetNumThreads(before)


def test_the_number_of_threads_from_the_environment():
    code = "import ep; print(ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU).GetNumThreads())"
    assert run(code, EP_CPU_NUM_THREADS="5").strip() == "5"
    assert int(run(code, EP_CPU_NUM_THREADS="")) >= 1  # as if it were not set
    for wrong in ("0", "-1", "two", "9" * 20, "1.5", "\u0663"):
        failed = run(code, EP_CPU_NUM_THREADS=wrong, fails=True)
        assert f"EP_CPU_NUM_THREADS is {wrong!r}; it must be a number of threads from 1" in failed
