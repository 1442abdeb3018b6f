"""The devices that there are, and why the others are not."""

from __future__ import annotations

from ep.include.device import Device
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType, load_all_providers
from ep.include.errors import DeviceUnavailableError


def device_types() -> list[DeviceType]:
    """Every device type that ep or an installed package names, whether or not it has devices."""
    load_all_providers()
    return list(DeviceType)


def devices_of(device_type: DeviceType) -> list[Device]:
    """The devices of a type that are present; DeviceUnavailableError, saying why, where there is none."""
    manager = DeviceManagerRegistry.GetDeviceManager(device_type)
    count = manager.GetDeviceCount()
    if count == 0:
        raise DeviceUnavailableError(manager.WhyUnavailable())
    try:
        return [manager.GetDevice(index) for index in range(count)]
    except ValueError as error:  # a setting in the environment that the device refuses
        raise DeviceUnavailableError(str(error)) from error


def devices(only: list[DeviceType] | None = None) -> list[Device]:
    """The devices that are present, of all types or of `only` some; of those named, each must be there.

    A simulated device is present only by name: it would take hours for what others do in a second.
    """
    if only is not None:
        return [device for device_type in only for device in devices_of(device_type)]
    found: list[Device] = []
    for device_type in device_types():
        try:
            found += [device for device in devices_of(device_type) if not getattr(device, "simulated", False)]
        except DeviceUnavailableError:
            continue  # `ep devices` and `ep doctor` say why
    return found


def label(device: Device) -> str:
    """`cpu:0`."""
    return f"{device.device_type().tag}:{device.device_index()}"
