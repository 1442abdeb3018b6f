"""Work that is still under way: events, copies, freed memory, threads. A device may do all work at once."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ep import AllocationOptions, DeviceManagerRegistry
from ep.include import DataType
from ep.include.primitive import FillFactory
from ep.testing import patience
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, some_key
from ep.testing.samples import sized

OPTIONS = AllocationOptions()
BUSY_SECONDS, BUSY_LAUNCHES = 0.03, 30
FEWEST, MOST = 2**10, 2**24
RSS = Path("/proc/self/statm")

fill_key = some_key(
    FillFactory,
    (DataType.kFloat,),
    suits=lambda key: key[0] is not DataType.kBool and not key[0].name.startswith("kCo"),
)


class Busy:
    """A buffer that many launches of Fill write, one after another: enough work that the last one is not done at once.

    The number of elements follows from the speed of the device.
    """

    def __init__(self, device: DeviceUnderTest, key: FlatKey) -> None:
        self.device, self.fill, (data_type,) = device, device.require(FillFactory, *key), key
        buffer = device.empty(FEWEST, data_type)
        self.fill.Launch(device.stream, buffer, 0, FEWEST)  # compiles
        device.stream.Sync()
        begin = time.perf_counter()
        self.fill.Launch(device.stream, buffer, 0, FEWEST)
        device.stream.Sync()
        of_each = max(time.perf_counter() - begin, 1e-5) * BUSY_LAUNCHES
        self.count = min(max(int(FEWEST * BUSY_SECONDS / of_each), FEWEST), MOST)
        self.buffer = device.empty(self.count, data_type)

    def write(self, stream: Any, value: Any) -> None:
        """Queue the launches; the last one writes `value`."""
        for turn in range(BUSY_LAUNCHES):
            self.fill.Launch(stream, self.buffer, turn, self.count)
        self.fill.Launch(stream, self.buffer, value, self.count)

    def end(self) -> Any:
        """Return the last elements of the buffer, a part that the launches write last."""
        return self.buffer[self.count - 8 :]


@pytest.fixture
def streams(device: DeviceUnderTest) -> Iterator[Any]:
    """Two streams for one test."""
    streams = [device.device.CreateStream() for _ in range(2)]
    yield streams
    for stream in streams:
        patience.within(partial(device.device.DestroyStream, stream), "DestroyStream")


@pytest.fixture
def waiting_streams(device: DeviceUnderTest, streams: Any) -> Any:
    """Two streams that wait for events."""
    if not DeviceManagerRegistry.GetDeviceManager(device.type).IsStreamWaitEventSupported():
        pytest.skip(f"streams of {device} do not wait for events")
    return streams


@fill_key
def test_a_stream_waits_for_the_work_of_another(device: DeviceUnderTest, waiting_streams: Any, key: FlatKey) -> None:
    busy, (first, second), event = Busy(device, key), waiting_streams, device.device.CreateEvent()

    def work() -> Any:
        busy.write(first, 101)
        first.RecordEvent(event)
        second.WaitEvent(event)
        return device.array(busy.end(), stream=second)

    assert (patience.within(work, "a stream that waits for the event of another one") == 101).all()


@fill_key
def test_an_event_is_done_when_its_work_is(device: DeviceUnderTest, streams: Any, key: FlatKey) -> None:
    """It is done at some time without anybody waiting for it, and then its work can be read without waiting."""
    busy, (first, second), event = Busy(device, key), streams, device.device.CreateEvent()
    busy.write(first, 102)
    first.RecordEvent(event)

    def until_done() -> None:
        while not event.QueryDone():
            time.sleep(1e-4)

    patience.within(until_done, "an event that is asked whether it is done")
    assert (device.array(busy.end(), stream=second) == 102).all()


@fill_key
def test_waiting_for_an_event_waits_for_its_work(device: DeviceUnderTest, streams: Any, key: FlatKey) -> None:
    busy, (first, second), event = Busy(device, key), streams, device.device.CreateEvent()
    busy.write(first, 103)
    first.RecordEvent(event)
    patience.within(event.Sync, "Sync of an event")
    assert (device.array(busy.end(), stream=second) == 103).all()


@fill_key
def test_an_event_is_of_the_work_before_its_last_record(
    device: DeviceUnderTest, waiting_streams: Any, key: FlatKey
) -> None:
    """A wait for it is for the work that it had then."""
    busy, (first, second), event = Busy(device, key), waiting_streams, device.device.CreateEvent()
    first.RecordEvent(event)
    busy.write(first, 108)
    first.RecordEvent(event)
    second.WaitEvent(event)
    busy.fill.Launch(second, busy.buffer, 109, 1)
    second.RecordEvent(event)
    found = patience.within(lambda: device.array(busy.buffer, stream=second), "a wait for an event recorded again")
    assert (found[0], found[-1]) == (109, 108)
    busy.write(first, 110)
    first.RecordEvent(event)
    patience.within(event.Sync, "Sync of an event recorded again")
    assert (device.array(busy.end(), stream=second) == 110).all()


@fill_key
def test_the_work_of_a_stream_is_done_when_it_is_destroyed(device: DeviceUnderTest, streams: Any, key: FlatKey) -> None:
    busy, stream = Busy(device, key), device.device.CreateStream()
    busy.write(stream, 111)
    patience.within(partial(device.device.DestroyStream, stream), "DestroyStream")
    assert (device.array(busy.end(), stream=streams[0]) == 111).all()


@fill_key
def test_a_copy_to_the_host_waits_for_the_work_before_it(device: DeviceUnderTest, streams: Any, key: FlatKey) -> None:
    busy, stream = Busy(device, key), streams[0]
    busy.write(stream, 106)
    if not device.on_host:  # a host array is read by the host, which waits by Sync
        assert (busy.buffer.copy_to_host(stream) == 106).all()
        busy.write(stream, 107)
        assert (busy.end().copy_to_host(stream) == 107).all()


@fill_key
def test_a_copy_that_has_begun_is_of_the_work_before_it(device: DeviceUnderTest, key: FlatKey) -> None:
    """Operators write the array again before anybody waits for the copy."""
    busy, of_type = Busy(device, key), DeviceManagerRegistry.GetDeviceManager(device.type).arrays()
    if of_type is None:
        return  # operators do not run on the device
    arrays = of_type.on(0)
    busy.buffer = arrays.empty((busy.count,), key[0].dtype)
    busy.write(arrays.stream, 113)
    wait = arrays.begin_copy_to_host(busy.buffer)
    busy.write(arrays.stream, 114)
    found = patience.within(wait, "a copy to the host that has begun")
    assert found.shape == (busy.count,)
    assert (found == 113).all()
    assert (arrays.copy_to_host(busy.buffer) == 114).all()


@fill_key
def test_an_array_may_change_after_it_was_copied_from(device: DeviceUnderTest, streams: Any, key: FlatKey) -> None:
    busy, stream = Busy(device, key), streams[0]
    busy.write(stream, 104)
    array = np.full(busy.count, 3, key[0].dtype)
    device.write(busy.buffer, array, stream)
    array[...] = 9
    if not device.on_host:  # a host array is not written on the stream
        assert (device.array(busy.buffer, stream=stream) == 3).all()
        busy.write(stream, 112)
        device.write(busy.end(), array[:8], stream)  # after the launches, a part too
        assert (device.array(busy.buffer, stream=stream)[-9:] == [112, *[9] * 8]).all()


@fill_key
def test_freed_memory_is_refused(device: DeviceUnderTest, key: FlatKey) -> None:
    if device.on_host:
        pytest.skip(f"buffers of {device} are arrays, whose memory lives as long as they do")
    (data_type,) = key
    fill, buffer = device.require(FillFactory, *key), device.empty(16, data_type)
    part = buffer[2:7]
    device.device.Free(OPTIONS, buffer)
    for freed in (buffer, part):
        with pytest.raises(ValueError, match=r"\bdst\b.*\bfreed\b"):
            fill.Launch(device.stream, freed, 1, freed.size)
        with pytest.raises(ValueError, match="freed"):
            freed.copy_to_host(device.stream)


@fill_key
def test_memory_that_is_freed_comes_back(device: DeviceUnderTest, key: FlatKey) -> None:
    """Many buffers of 32 MiB, one after another, take the memory of a few."""
    (data_type,), size = key, 2 ** (16 if device.simulated else 25)
    fill, begin = device.require(FillFactory, *key), 0
    for turn in range(sized(device, 64, 24)):
        for buffer, free in (
            (device.device.Alloc(OPTIONS, size), lambda buffer: device.device.Free(OPTIONS, buffer)),
            (device.stream.AllocAsync(size), device.stream.FreeAsync),
        ):
            elements = buffer.view(data_type.dtype)
            fill.Launch(device.stream, elements, 1, elements.size)
            device.stream.Sync()
            del elements
            free(buffer)
            del buffer
        if turn == 4:
            begin = _resident_bytes()
    device.stream.Sync()
    assert _resident_bytes() - begin < 16 * size


def _resident_bytes() -> Any:
    """Return the bytes of memory that the process occupies; 0 where the system does not tell."""
    return int(RSS.read_text().split()[1]) * 4096 if RSS.exists() else 0


@fill_key
def test_stream_ordered_memory_is_freed_after_the_work_on_it(
    device: DeviceUnderTest, streams: Any, key: FlatKey
) -> None:
    """What is queued before FreeAsync does not write the memory of another stream, which may be the same."""
    busy, (first, second), (data_type,) = Busy(device, key), streams, key
    freed = first.AllocAsync(4096)
    elements = freed.view(data_type.dtype)
    busy.write(first, 105)
    busy.fill.Launch(first, elements, 1, elements.size)
    first.FreeAsync(freed)
    buffer = second.AllocAsync(4096).view(data_type.dtype)
    busy.fill.Launch(second, buffer, 2, buffer.size)
    second.Sync()
    first.Sync()
    assert (device.array(buffer, stream=second) == 2).all()
    second.FreeAsync(buffer)


def give_way(frame: Any, event: Any, argument: Any) -> Any:
    """Trace a thread: let another one run before each line of Python, so that a missing lock shows."""
    time.sleep(0)
    return give_way


@fill_key
def test_threads_launch_the_same_primitive(device: DeviceUnderTest, key: FlatKey) -> None:
    """Each thread launches on a stream of its own."""
    fill, (data_type,), failures = device.require(FillFactory, *key), key, []
    begin, count = threading.Barrier(4), 37

    def work(mark: Any) -> None:
        try:
            stream = device.device.CreateStream()
            buffers = [device.empty(count, data_type) for _ in range(20)]
            begin.wait()
            sys.settrace(give_way)
            for value, buffer in enumerate(buffers, mark):
                fill.Launch(stream, buffer, value, count)
            sys.settrace(None)
            for value, buffer in enumerate(buffers, mark):
                np.testing.assert_array_equal(device.array(buffer, stream=stream), np.full(count, value))
            device.device.DestroyStream(stream)
        except BaseException as error:
            failures.append(error)

    def join() -> None:
        for thread in threads:
            thread.join()

    threads = [threading.Thread(target=work, args=(25 * mark,), daemon=True) for mark in range(4)]
    for thread in threads:
        thread.start()
    patience.within(join, "four threads that launch Fill")
    assert not failures
