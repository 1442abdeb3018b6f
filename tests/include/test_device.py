"""The device layer without a device: managers, guards, options."""

from contextlib import suppress
from types import SimpleNamespace

import pytest

from ep.include import (
    ActiveDeviceGuard,
    AllocationOptions,
    DeviceManagerRegistry,
    DeviceType,
    DeviceUnavailableError,
    DuplicateRegistrationError,
)
from tests.include.toy import ToyManager


def test_manager_is_made_once_when_first_asked_for(toy):
    made = []
    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, lambda: made.append(ToyManager()) or made[-1])
    assert toy in DeviceManagerRegistry.GetRegisteredDeviceTypes()
    assert not made
    assert DeviceManagerRegistry.GetDeviceManager(toy) is DeviceManagerRegistry.GetDeviceManagerOrNull(toy) is made[0]
    assert len(made) == 1


def test_one_manager_per_type(toy):
    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, ToyManager)
    with pytest.raises(DuplicateRegistrationError, match=r"DeviceType\.kToy has a device manager already"):
        DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, ToyManager)


def test_device_type_without_manager(toy):
    assert DeviceManagerRegistry.GetDeviceManagerOrNull(toy) is None
    assert not DeviceManagerRegistry.IsDeviceTypeRegistered(toy)
    assert DeviceManagerRegistry.GetDeviceCount(toy) == 0
    with pytest.raises(DeviceUnavailableError, match=r"no installed package provides devices of type 'toy' .*cpu"):
        DeviceManagerRegistry.GetDevice(toy, 0)


def test_absent_device(toy):
    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, ToyManager)
    assert DeviceManagerRegistry.IsDeviceTypeRegistered(toy)
    assert DeviceManagerRegistry.GetDeviceManager(toy).WhyUnavailable() == "no toy device was found"
    with pytest.raises(DeviceUnavailableError, match="no toy device was found"):
        DeviceManagerRegistry.GetDevice(toy, 0)


@pytest.mark.parametrize("wrong", ["cpu", 0, None])
def test_device_type_is_checked(wrong):
    with pytest.raises(TypeError, match="device_type must be a DeviceType"):
        DeviceManagerRegistry.GetDevice(wrong, 0)
    with pytest.raises(TypeError, match="device_type must be a DeviceType"):
        DeviceManagerRegistry.RegisterDeviceManagerFactory(wrong, ToyManager)


def test_guard_restores_the_active_device():
    manager = ToyManager()
    manager.active = 2

    def device(index):
        return SimpleNamespace(
            device_manager=lambda: manager, SetAsActiveDevice=lambda: manager.SetActiveDeviceByIndex(index)
        )

    with ActiveDeviceGuard(device(5)):
        assert manager.active == 5
        with suppress(KeyError), ActiveDeviceGuard(device(7)):
            assert manager.active == 7
            raise KeyError
        assert manager.active == 5
    assert manager.active == 2


def test_allocation_options():
    assert not AllocationOptions().HasPinnedDevice()
    assert not AllocationOptions().HasNumaNodeAffinity()
    options = AllocationOptions(pinned_device_type=DeviceType.kCUDA, pinned_device_index=1, numa_node_affinity=0)
    assert options.HasPinnedDevice()
    assert options.HasNumaNodeAffinity()
