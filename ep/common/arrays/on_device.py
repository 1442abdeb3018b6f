"""The arrays of a device, by its type. They come from its manager, for devices of this package and of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.include.arrays import Array, Arrays, DeviceArrays, Operands
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType, load_all_providers
from ep.include.errors import ArgumentTypeError, DeviceUnavailableError
from ep.include.shown import shown


def as_device_type(device: DeviceType | str, name: str) -> DeviceType:
    """Return a device type, given as such or by its tag. name: of the argument.

    Raises TypeError for anything else, ValueError for an unknown tag.
    """
    if isinstance(device, str):
        return DeviceType.FromTag(device, name)
    if not isinstance(device, DeviceType):
        raise ArgumentTypeError(name, f"must be a DeviceType or its tag, such as 'cpu', not {shown(device)}")
    return device


def arrays_on(device_type: DeviceType, device_index: int = 0) -> Arrays:
    """Return the Arrays of a device; ValueError for a device type that operators do not run on."""
    arrays = arrays_of_type(device_type)
    if arrays is None:
        load_all_providers()
        known = ", ".join(member.tag for member in DeviceType if arrays_of_type(member) is not None)
        raise ValueError(f"operators do not run on {device_type.tag}; they run on {known}")
    return arrays.on(device_index)


def arrays_beside(base: Operands, device_type: DeviceType | None) -> Arrays | None:
    """Return the Arrays of a device that computes what the one of `base` has no kernel for; None for the same one.

    Raises DeviceUnavailableError, which names the argument `otherwise`, if it is not present.
    """
    if device_type is None or not isinstance(base, Arrays) or base.device_type is device_type:
        return None
    manager = DeviceManagerRegistry.GetDeviceManager(device_type)
    if manager.GetDeviceCount() == 0:
        why = manager.WhyUnavailable()
        raise DeviceUnavailableError(f"otherwise is {device_type.tag}, which is not present: {why}")
    return arrays_on(device_type).kept()


def arrays_of_type(device_type: DeviceType) -> DeviceArrays | None:
    """Return the arrays of all devices of a type; None if operators do not run on it."""
    manager = DeviceManagerRegistry.GetDeviceManagerOrNull(device_type)
    return None if manager is None else manager.arrays()


def on_device(base: Arrays, array: Any, argument: str = "input") -> Array:
    """Return an array of the host or of the device as a buffer of the device."""
    if isinstance(array, np.ndarray | np.generic) and not base.takes_host_arrays:
        return copied_from_host(base, np.asarray(array))
    return base.as_buffer(array, argument)


def copied_from_host(base: Arrays, array: np.ndarray[Any, Any]) -> Array:
    """Return a copy of an array of the host as a buffer of the device."""
    return base.as_buffer(base.copy_from_host(array), "array")


def moved(array: Array, source: Arrays, target: Arrays) -> Array:
    """Return a copy of an array on another device, as a buffer there. It waits for the work that computes the array,
    and raises the errors of that work."""
    return copied_from_host(target, source.copy_to_host(array))
