"""Properties of the CPU device that the contracts leave open: messages, the number of threads."""

import re

import numpy as np
import pytest

from ep import AllocationOptions, DeviceManagerRegistry, DeviceType, DeviceUnavailableError
from tests.subprocesses import run


@pytest.fixture
def cpu():
    return DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)


def test_there_is_one_cpu(cpu):
    assert DeviceManagerRegistry.GetDeviceCount(DeviceType.kCPU) == 1
    with pytest.raises(DeviceUnavailableError, match="device_index is 1; there is one CPU device"):
        DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 1)
    with pytest.raises(TypeError, match=r"device_index must be an integer, not 0\.0"):
        DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0.0)


def test_its_memory_is_an_array(cpu):
    options = AllocationOptions()
    for memory in (cpu.Alloc(options, 7), cpu.AllocPinned(options, 7), cpu.CreateStream().AllocAsync(7)):
        assert isinstance(memory, np.ndarray)
        assert memory.shape == (7,)


def test_memory_that_cannot_be_had(cpu):
    with pytest.raises(ValueError, match="size is -1"):
        cpu.Alloc(AllocationOptions(), -1)
    with pytest.raises(ValueError, match="numa_node_affinity is 0"):
        cpu.Alloc(AllocationOptions(numa_node_affinity=0), 8)
    with pytest.raises(DeviceUnavailableError):
        cpu.Alloc(AllocationOptions(pinned_device_type=DeviceType.kCUDA), 8)
    with pytest.raises(TypeError, match="buffer must be"):
        cpu.Free(AllocationOptions(), None)


def test_streams_and_events(cpu):
    """Test properties that the contract leaves open: no call waits; the messages of errors."""
    stream = cpu.CreateStream()
    assert cpu.device_manager().IsStreamWaitEventSupported()
    begin, end = cpu.CreateEvents(2)
    stream.RecordEvent(begin)
    assert begin.QueryDone()
    with pytest.raises(ValueError, match="must have been recorded"):
        begin.ElapsedTime(end)
    stream.RecordEvent(end)
    assert begin.ElapsedTime(end) >= 0
    with pytest.raises(TypeError, match="event must be an event of the CPU"):
        stream.RecordEvent(None)
    with pytest.raises(TypeError, match="stream must be a stream of the CPU"):
        cpu.DestroyStream(None)


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
    assert int(run(code, EP_CPU_NUM_THREADS="")) >= 1  # the same as if it were not set
    failed = run(code, EP_CPU_NUM_THREADS="two", fails=True)
    assert "EP_CPU_NUM_THREADS is 'two'; it must be a number of threads from 1" in failed


@pytest.mark.parametrize("wrong", ["0", "-1", "two", "9" * 20, "1.5", "\u0663"])
def test_no_device_is_made_with_a_wrong_number_of_threads(cpu, monkeypatch, wrong):
    monkeypatch.setenv("EP_CPU_NUM_THREADS", wrong)
    words = f"EP_CPU_NUM_THREADS is {wrong!r}; it must be a number of threads from 1"
    with pytest.raises(ValueError, match=re.escape(words)):
        type(cpu)(cpu.device_manager())
