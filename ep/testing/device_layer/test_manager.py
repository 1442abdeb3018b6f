"""Device managers: the devices that exist, and the active device of each thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ep import ActiveDeviceGuard, DeviceManagerRegistry, DeviceUnavailableError
from ep.include import Device, DeviceManager
from ep.testing.device_under_test import DeviceUnderTest


@pytest.fixture
def manager(device: DeviceUnderTest) -> Any:
    return DeviceManagerRegistry.GetDeviceManager(device.type)


def test_the_manager_has_the_devices_of_its_type(device: DeviceUnderTest, manager: Any) -> None:
    assert isinstance(manager, DeviceManager)
    assert manager is DeviceManagerRegistry.GetDeviceManager(device.type)
    assert manager.device_type() is device.type
    count = manager.GetDeviceCount()
    assert count == DeviceManagerRegistry.GetDeviceCount(device.type) >= 1
    assert manager.WhyUnavailable() is None
    assert isinstance(manager.IsStreamWaitEventSupported(), bool)
    for index in range(count):
        other = manager.GetDevice(index)
        assert isinstance(other, Device)
        assert (other.device_type(), other.device_index()) == (device.type, index)
        assert other.device_manager() is manager
        assert manager.GetDevice(index) is other
    assert device.device is manager.GetDevice(0)


@pytest.mark.parametrize("what", ["GetDevice", "SetActiveDeviceByIndex"])
def test_indices_of_no_device(manager: Any, what: Any) -> None:
    for index in (-1, manager.GetDeviceCount(), 2**70):
        with pytest.raises(DeviceUnavailableError, match=rf"\bdevice_index\b.*{index}"):
            getattr(manager, what)(index)
    for wrong in (0.0, "0", None):
        with pytest.raises(TypeError, match=r"\bdevice_index\b"):
            getattr(manager, what)(wrong)


def test_the_active_device(manager: Any) -> None:
    before = manager.GetActiveDeviceIndex()
    for index in range(manager.GetDeviceCount()):
        chosen = manager.GetDevice(index)
        with ActiveDeviceGuard(chosen) as active:
            assert active is chosen
            assert manager.GetActiveDeviceIndex() == index
        assert manager.GetActiveDeviceIndex() == before
        chosen.SetAsActiveDevice()
        assert manager.GetActiveDeviceIndex() == index
        manager.SetActiveDeviceByIndex(before)
        assert manager.GetActiveDeviceIndex() == before


def test_each_thread_has_an_active_device_of_its_own(manager: Any) -> None:
    """A thread begins with device 0, whichever device is active in other threads."""
    seen = []
    last = manager.GetDeviceCount() - 1
    with ActiveDeviceGuard(manager.GetDevice(last)):
        thread = threading.Thread(target=lambda: seen.append(manager.GetActiveDeviceIndex()))
        thread.start()
        thread.join()
        assert seen == [0]
        assert manager.GetActiveDeviceIndex() == last
