"""Streams and events: order, waiting, elapsed time, stream-ordered memory, and invalid arguments."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ep import DeviceManagerRegistry
from ep.include import Event, Stream, kMaxAlignmentRequirement
from ep.testing.device_under_test import DeviceUnderTest, address


@pytest.fixture
def stream(device: DeviceUnderTest) -> Iterator[Any]:
    """A stream for one test."""
    stream = device.device.CreateStream()
    yield stream
    device.device.DestroyStream(stream)


def test_a_stream_knows_its_device(device: DeviceUnderTest, stream: Any) -> None:
    assert isinstance(stream, Stream)
    assert stream is not device.device.CreateStream()
    assert (stream.device(), stream.device_type()) == (device.device, device.type)
    stream.Sync()
    assert stream.GetAsyncError() is None


def test_events(device: DeviceUnderTest, stream: Any) -> None:
    events = device.device.CreateEvents(3)
    assert len({id(event) for event in events}) == 3
    assert device.device.CreateEvents(0) == []
    for event in events:
        assert isinstance(event, Event)
        assert event.QueryDone() is True  # it was never recorded
        event.Sync()
    buffer = device.buffer(np.zeros(1000, np.uint8))
    for turn, event in enumerate(events):
        device.write(buffer, np.full(1000, turn, np.uint8), stream)
        stream.RecordEvent(event)
    for event in reversed(events):  # events on one stream complete in order
        event.Sync()
        assert event.QueryDone() is True
    stream.RecordEvent(events[0])  # again
    stream.Sync()
    assert events[0].QueryDone() is True
    assert stream.GetAsyncError() is None
    device.device.DestroyEvents(events)
    device.device.DestroyEvent(device.device.CreateEvent())


def test_elapsed_time(device: DeviceUnderTest, stream: Any) -> None:
    """Elapsed time is in milliseconds; it is optional."""
    begin, end = device.device.CreateEvents(2)
    if not hasattr(begin, "ElapsedTime"):
        pytest.skip(f"events of {device} have no ElapsedTime")
    with pytest.raises(ValueError, match="recorded"):
        begin.ElapsedTime(end)
    stream.RecordEvent(begin)
    device.buffer(np.zeros(100_003))
    stream.RecordEvent(end)
    end.Sync()
    assert 0 <= begin.ElapsedTime(end) < 60_000


def test_waiting_for_the_event_of_another_stream(device: DeviceUnderTest, stream: Any) -> None:
    if not DeviceManagerRegistry.GetDeviceManager(device.type).IsStreamWaitEventSupported():
        pytest.skip(f"streams of {device} do not wait for events")
    other, event = device.device.CreateStream(), device.device.CreateEvent()
    stream.WaitEvent(event)  # it was never recorded, so it is done
    values = np.arange(1000.0)
    buffer = device.buffer(np.zeros(1000))
    device.write(buffer, values, other)
    other.RecordEvent(event)
    stream.WaitEvent(event)
    np.testing.assert_array_equal(device.array(buffer, stream=stream), values)
    device.device.DestroyEvent(event)
    device.device.DestroyStream(other)


@pytest.mark.parametrize("wrong", [None, 7], ids=repr)
def test_what_is_no_event_or_stream(device: DeviceUnderTest, stream: Any, wrong: Any) -> None:
    refusing = {
        "event": [stream.RecordEvent, device.device.DestroyEvent],
        "stream": [device.device.DestroyStream],
        "buffer": [stream.FreeAsync],
    }
    if DeviceManagerRegistry.GetDeviceManager(device.type).IsStreamWaitEventSupported():
        refusing["event"].append(stream.WaitEvent)
    for argument, functions in refusing.items():
        for function in functions:
            with pytest.raises(TypeError, match=rf"\b{argument}\b"):
                function(wrong)


def test_stream_ordered_memory(device: DeviceUnderTest, stream: Any) -> None:
    assert isinstance(device.device.IsStreamOrderedMemoryAllocationSupported(), bool)
    values = np.arange(100, dtype=np.int16)
    buffer = stream.AllocAsync(200)
    assert (buffer.dtype, buffer.size) == (np.uint8, 200)
    assert address(buffer) % kMaxAlignmentRequirement == 0
    device.write(buffer.view(np.int16), values, stream)
    np.testing.assert_array_equal(device.array(buffer.view(np.int16), stream=stream), values)
    stream.FreeAsync(buffer)
    stream.FreeAsync(stream.AllocAsync(0))
    stream.Sync()
    for size, error in ((-1, ValueError), (1.5, TypeError), (2**60, MemoryError)):
        with pytest.raises(error):
            stream.AllocAsync(size)


def test_each_thread_with_a_stream_of_its_own(device: DeviceUnderTest) -> None:
    results, failures = {}, []

    def work(mark: Any) -> None:
        try:
            stream, event = device.device.CreateStream(), device.device.CreateEvent()
            buffer = stream.AllocAsync(4096)
            for turn in range(20):
                device.write(buffer, np.full(4096, mark + turn, np.uint8), stream)
                stream.RecordEvent(event)
            event.Sync()
            results[mark] = set(device.array(buffer, stream=stream))
            stream.FreeAsync(buffer)
            device.device.DestroyStream(stream)
        except BaseException as error:
            failures.append(error)

    marks = (1, 51, 101, 151)
    threads = [threading.Thread(target=work, args=(mark,)) for mark in marks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert results == {mark: {mark + 19} for mark in marks}
