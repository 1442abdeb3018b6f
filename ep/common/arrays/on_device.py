"""The arrays of a device, by its type. They come from its manager, for devices of this package and of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.include.arrays import Array, Arrays, DeviceArrays
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType, load_all_providers


def arrays_on(device_type: DeviceType, device_index: int = 0) -> Arrays:
    """Return the Arrays of a device; ValueError for a device type that operators do not run on."""
    arrays = arrays_of_type(device_type)
    if arrays is None:
        load_all_providers()
        known = ", ".join(member.tag for member in DeviceType if arrays_of_type(member) is not None)
        raise ValueError(f"operators do not run on {device_type.tag}; they run on {known}")
    return arrays.on(device_index)


def arrays_of_type(device_type: DeviceType) -> DeviceArrays | None:
    """Return the arrays of all devices of a type; None if operators do not run on it."""
    manager = DeviceManagerRegistry.GetDeviceManagerOrNull(device_type)
    return None if manager is None else manager.arrays()


def on_device(base: Arrays, array: Any, argument: str = "input") -> Array:
    """Return an array of the host or of the device as a buffer of the device."""
    if isinstance(array, np.ndarray | np.generic) and not base.takes_host_arrays:
        return base.copy_from_host(np.asarray(array))
    return base.as_buffer(array, argument)
