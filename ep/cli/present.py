"""The devices that are present, and the reasons why others are not."""

from __future__ import annotations

from ep.cli import output
from ep.cli.parser import CommandError
from ep.include.device import Device
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType, load_all_providers
from ep.include.errors import DeviceUnavailableError, EnvironmentVariableError


def device_types() -> list[DeviceType]:
    """Return every device type that ep or an installed package names, whether or not it has devices."""
    load_all_providers()
    return list(DeviceType)


def devices_of(device_type: DeviceType) -> list[Device]:
    """Return the devices of a type that are present; DeviceUnavailableError, with the reason, if there is none.

    Raises EnvironmentVariableError if a variable prevents their creation.
    """
    manager = DeviceManagerRegistry.GetDeviceManager(device_type)
    count = manager.GetDeviceCount()
    if count == 0:
        raise DeviceUnavailableError(manager.WhyUnavailable())
    return [manager.GetDevice(index) for index in range(count)]


def devices(only: list[DeviceType] | None = None) -> list[Device]:
    """Return the devices to run on: all that are present, or those of the types in `only`, which must all be present.

    A simulated device is included only by name: it takes hours for work that others do in a second. Devices that are
    present but left out are named on stderr. Raises CommandError if nothing is left.
    """
    if only is not None:
        return [device for device_type in dict.fromkeys(only) for device in devices_of(device_type)]
    found: list[Device] = []
    for device_type in device_types():
        try:
            if not DeviceManagerRegistry.GetDeviceCount(device_type):
                continue  # `ep devices` and `ep doctor` print the reason
            here = devices_of(device_type)
        except EnvironmentVariableError:
            raise
        except Exception as error:  # errors in another package's device must not affect the others
            output.note(f"{device_type.tag} is left out: {one_line(error)}")
            continue
        for device in here:
            if getattr(device, "simulated", False):
                output.note(f"{label(device)} is simulated and left out; --device {device_type.tag} runs it")
            else:
                found.append(device)
    if not found:
        raise CommandError("nothing was run, for there is no device; 'ep devices' says why")
    return found


def label(device: Device) -> str:
    """Return the name of a device: `cpu:0`."""
    return f"{device.device_type().tag}:{device.device_index()}"


def one_line(error: Exception) -> str:
    """Return an exception as a line of a report."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
