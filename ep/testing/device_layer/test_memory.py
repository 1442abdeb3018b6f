"""Memory: alignment, sizes, views, freeing, and allocations that fail."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

from ep import AllocationOptions
from ep.include import DataType, kMaxAlignmentRequirement
from ep.testing.device_under_test import DeviceUnderTest, address

OPTIONS = AllocationOptions()
SIZES = [1, 511, 512, 513, 100_003, 3 << 20]


@pytest.mark.parametrize("size", SIZES)
def test_size_and_alignment(device: DeviceUnderTest, size: int) -> None:
    held = [device.device.Alloc(OPTIONS, size) for _ in range(3)]
    for turn, buffer in enumerate(held):
        assert (buffer.dtype, buffer.size, buffer.nbytes) == (np.dtype(np.uint8), size, size)
        assert address(buffer) % kMaxAlignmentRequirement == 0
        device.write(buffer, np.arange(turn, size + turn).astype(np.uint8))
    for turn, buffer in enumerate(held):
        np.testing.assert_array_equal(device.array(buffer), np.arange(turn, size + turn).astype(np.uint8))
        device.device.Free(OPTIONS, buffer)


def test_no_bytes_at_all(device: DeviceUnderTest) -> None:
    buffer = device.device.Alloc(OPTIONS, 0)
    assert (buffer.size, buffer.nbytes) == (0, 0)
    empty = buffer.view(np.float32)
    assert (empty.dtype, empty.size) == (np.float32, 0)
    device.write(empty, np.empty(0, np.float32))
    assert device.array(empty).shape == (0,)
    assert empty[0:0].size == 0
    device.device.Free(OPTIONS, buffer)


@pytest.mark.parametrize("data_type", DataType, ids=lambda t: t.name)
def test_views_are_the_same_bytes(device: DeviceUnderTest, data_type: DataType) -> None:
    values = np.arange(48, dtype=np.uint8) % 2  # 0 and 1 are values of every type, also of bool
    buffer = device.buffer(values)
    view = buffer.view(data_type.dtype)
    assert (view.dtype, view.size, view.nbytes) == (data_type.dtype, 48 // data_type.itemsize, 48)
    assert address(view) == address(buffer)
    assert device.array(view).tobytes() == values.tobytes()
    device.write(view, np.ones(view.size, data_type.dtype))
    assert device.array(buffer).tobytes() == np.ones(view.size, data_type.dtype).tobytes()


def test_a_view_of_broken_elements(device: DeviceUnderTest) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (NumPy's own words, on devices whose buffers are arrays)
        device.buffer(np.zeros(12, np.uint8)).view(np.int64)


def test_slices_are_the_same_memory(device: DeviceUnderTest) -> None:
    values = np.arange(24, dtype=np.int32)
    buffer = device.buffer(values)
    for key in (slice(3, 9), slice(None), slice(-5, None), slice(9, 3), slice(20, 99)):
        part = buffer[key]
        assert (part.dtype, part.size, part.nbytes) == (np.int32, values[key].size, values[key].nbytes)
        np.testing.assert_array_equal(device.array(part), values[key])
    assert address(buffer[2:6]) == address(buffer) + 8
    np.testing.assert_array_equal(device.array(buffer[2:6].view(np.int64)), values[2:6].view(np.int64))
    device.write(buffer[4:6], np.array([-1, -2], np.int32))
    values[4:6] = -1, -2
    np.testing.assert_array_equal(device.array(buffer), values)


def test_memory_lives_as_long_as_a_part_of_it(device: DeviceUnderTest) -> None:
    part = device.buffer(np.arange(4096, dtype=np.int16))[100:200].view(np.uint16)
    gc.collect()
    others = [device.buffer(np.full(8192, 0xFF, np.uint8)) for _ in range(8)]
    np.testing.assert_array_equal(device.array(part), np.arange(100, 200))
    assert len(others) == 8


def test_sizes_that_are_none(device: DeviceUnderTest) -> None:
    for size in (-1, -(2**63)):
        with pytest.raises(ValueError, match=r"\bsize\b"):
            device.device.Alloc(OPTIONS, size)
    wrong: Any
    for wrong in (1.5, "8", None):
        with pytest.raises(TypeError):
            device.device.Alloc(OPTIONS, wrong)


def test_more_memory_than_there_is(device: DeviceUnderTest) -> None:
    with pytest.raises(MemoryError):
        device.device.Alloc(OPTIONS, 2**60)
    assert device.device.Alloc(OPTIONS, 8).nbytes == 8


@pytest.mark.parametrize(
    "options",
    [AllocationOptions(numa_node_affinity=2**31 - 1), AllocationOptions(numa_node_affinity=-1)],
    ids=lambda options: str(options.numa_node_affinity),
)
def test_options_that_no_device_can_honour(device: DeviceUnderTest, options: Any) -> None:
    """A NUMA node that no machine has must be refused, also by a device that places memory."""
    for allocate in (device.device.Alloc, device.device.AllocPinned):
        with pytest.raises(ValueError, match="numa_node_affinity"):
            allocate(options, 8)


def test_options_are_honoured_or_refused(device: DeviceUnderTest) -> None:
    options = AllocationOptions(numa_node_affinity=0)
    said = ""
    try:
        buffer = device.device.Alloc(options, 8)
    except ValueError as error:
        said = str(error)
    else:
        device.device.Free(options, buffer)
    assert not said or "numa_node_affinity" in said


@pytest.mark.parametrize("wrong", [None, 8, "buffer"], ids=repr)
def test_only_buffers_are_freed(device: DeviceUnderTest, wrong: Any) -> None:
    for free in (device.device.Free, device.device.FreePinned):
        with pytest.raises(TypeError, match=r"\bbuffer\b"):
            free(OPTIONS, wrong)


@pytest.mark.parametrize("size", [0, 1, 511, 100_003])
def test_pinned_memory(device: DeviceUnderTest, size: int) -> None:
    pinned = device.device.AllocPinned(OPTIONS, size)
    assert isinstance(pinned, np.ndarray)
    assert (pinned.dtype, pinned.shape, pinned.flags.writeable) == (np.uint8, (size,), True)
    assert size == 0 or pinned.ctypes.data % kMaxAlignmentRequirement == 0
    pinned[...] = np.arange(size).astype(np.uint8)
    buffer = device.device.Alloc(OPTIONS, size)
    device.write(buffer, pinned)
    np.testing.assert_array_equal(device.array(buffer), pinned)
    device.device.FreePinned(OPTIONS, pinned)
    wrong: Any
    for wrong, error in ((-1, ValueError), (1.5, TypeError)):
        with pytest.raises(error):
            device.device.AllocPinned(OPTIONS, wrong)


def test_reset_keeps_what_is_in_use(device: DeviceUnderTest) -> None:
    buffer = device.buffer(np.arange(1000))
    device.device.Free(OPTIONS, device.device.Alloc(OPTIONS, 5000))
    device.stream.Sync()
    device.device.Reset()
    np.testing.assert_array_equal(device.array(buffer), np.arange(1000))


def test_many_threads_allocate_at_once(device: DeviceUnderTest) -> None:
    failures = []

    def work(mark: Any) -> None:
        try:
            stream = device.device.CreateStream()
            for turn in range(50):
                size = 512 << (turn % 5)
                buffer = device.device.Alloc(OPTIONS, size)
                values = np.full(size, mark, np.uint8)
                device.write(buffer, values, stream)
                np.testing.assert_array_equal(device.array(buffer, stream=stream), values)
                if turn % 2:
                    device.device.Free(OPTIONS, buffer)
            device.device.DestroyStream(stream)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
