"""Queued copies between a GPU and the host: the memory of one that is not done is not used again."""

import ctypes
import gc

import numpy as np
import pytest

from ep.cuda.device.host_copies import HostCopies

F32 = np.dtype(np.float32)


class LateDriver:
    """A driver whose copies are done when somebody waits for an event behind them."""

    def __init__(self, room=8):
        self.room, self.memory, self.queue, self.done, self.freed = room, {}, [], set(), 0

    def alloc_host(self, device, size):
        if len(self.memory) == self.room:
            raise MemoryError("no more pages")
        block = np.empty(size, np.uint8)
        self.memory[block.ctypes.data] = block
        return block.ctypes.data

    def free_host(self, device, address):
        del self.memory[address]
        self.freed += 1

    def create_event(self, device, timing):
        event = object()
        self.done.add(event)
        return event

    def destroy_event(self, device, event):
        self.done.remove(event)

    def copy(self, device, dst, src, size, stream):
        self.queue.append(lambda: ctypes.memmove(dst, src, size))

    def record_event(self, device, event, stream):
        self.done.discard(event)
        self.queue.append(lambda: self.done.add(event))

    def query_event(self, device, event):
        return event in self.done

    def synchronize_event(self, device, event):
        while event not in self.done:
            self.queue.pop(0)()


@pytest.fixture
def driver():
    return LateDriver()


@pytest.fixture
def copies(driver):
    return HostCopies(driver, 0)


def test_a_copy_is_of_what_the_work_before_it_wrote(driver, copies):
    device = np.arange(35, dtype=F32)
    found, wait = copies.from_device(7, device.ctypes.data, (5, 7), F32)
    driver.queue.append(lambda: device.fill(-1))
    wait()
    np.testing.assert_array_equal(found, np.arange(35).reshape(5, 7))
    driver.queue.pop(0)()
    assert found[0, 0] == 0


def test_an_array_may_change_when_its_copy_is_queued(driver, copies):
    device, array = np.zeros(35, F32), np.arange(35, dtype=F32)
    assert copies.to_device(7, device.ctypes.data, array)
    array.fill(-1)
    assert copies.to_device(7, device[5:].ctypes.data, array[:3])  # memory of its own: the first copy is not done
    while driver.queue:
        driver.queue.pop(0)()
    np.testing.assert_array_equal(device, [*range(5), -1, -1, -1, *range(8, 35)])
    assert len(driver.memory) == 2


def test_memory_is_used_again_when_the_copy_is_done_and_the_array_is_gone(driver, copies):
    device = np.ones(13, F32)
    for _ in range(4):
        found, wait = copies.from_device(7, device.ctypes.data, (13,), F32)
        wait()
        assert (found == 1).all()
        del found, wait
        gc.collect()
    assert len(driver.memory) == 1
    kept, _ = copies.from_device(7, device.ctypes.data, (13,), F32)
    copies.from_device(7, device.ctypes.data, (13,), F32)  # nobody waits for it
    gc.collect()
    _, wait = copies.from_device(7, device.ctypes.data, (13,), F32)
    assert len(driver.memory) == 3
    wait()
    assert (kept == 1).all()


def test_no_copy_of_nothing_or_of_very_much(driver, copies):
    assert not copies.to_device(7, 0, np.empty((0, 3), F32))
    assert not copies.to_device(7, 0, np.broadcast_to(np.int8(1), (2**25,)))
    assert not driver.queue


def test_free_memory_is_given_back_when_there_is_no_other(driver, copies):
    driver.room, device = 1, np.ones(3000, np.int8)
    copies.from_device(7, device.ctypes.data, (13,), device.dtype)
    gc.collect()
    found, wait = copies.from_device(7, device.ctypes.data, (3000,), device.dtype)
    assert driver.freed == 1
    wait()
    assert (found == 1).all()
    with pytest.raises(MemoryError, match="no more pages"):
        copies.from_device(7, device.ctypes.data, (13,), device.dtype)


def test_memory_whose_last_copy_is_unknown_is_not_used_again(driver, copies, monkeypatch):
    device = np.ones(13, F32)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(driver, "record_event", interrupted)
        with pytest.raises(KeyboardInterrupt):
            copies.to_device(7, device.ctypes.data, device)
    gc.collect()
    copies.to_device(7, device.ctypes.data, device)
    assert len(driver.memory) == 2
