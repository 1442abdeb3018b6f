"""On which device an operator runs: the one that its operands are on.

A device's arrays come from its manager (`DeviceManager.arrays`), those of this package as those of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.arrays.checks import NUMBERS, is_weak
from ep.include.arrays import Array, ArrayLike, Arrays, DeviceArrays, Operands, Placed
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType, load_all_providers
from ep.include.errors import DeviceUnavailableError

_PLAIN: Final = frozenset([np.ndarray, *NUMBERS])
_HOST: Final = DeviceType.kCPU
"""The host: it has NumPy's arrays, takes Python numbers, and refuses values that no device knows."""


def arrays_of(operands: Sequence[ArrayLike], names: Sequence[str]) -> Operands:
    """Return what reads operands where they are, the Arrays of a device as a rule; for Python numbers, the CPU's.

    Raises TypeError where they are in different places, naming two of them, and DeviceUnavailableError for an array of
    a device type that has no device here.
    """
    for value in operands:
        if type(value) not in _PLAIN:
            break
    else:  # what most calls are
        return _of_host().on(0)
    found: Operands | None = None
    name_of_found = ""
    for value, name in zip(operands, names, strict=True):
        if is_weak(value):
            continue
        arrays = _arrays_of(value, name)
        if found is None:
            found, name_of_found = arrays, name
        elif arrays.place != found.place:
            raise TypeError(
                f"{name} ({type(value).__qualname__}) is on {arrays.place}, {name_of_found} is on {found.place}; "
                f"bring one of them to where the other is first"
            )
    return found or _of_host().on(0)


def copy_to_device(array: ArrayLike, device_type: DeviceType | str, device_index: int = 0) -> Array:
    """Return a copy, on a device, of an array in host memory.

    array: what NumPy makes an array of, or what exports DLPack from host memory.
    device_type: such as DeviceType.kCUDA, or its tag.

    On the CPU that is an ndarray, on CUDA a CudaArray. Raises DeviceUnavailableError if there is no such device.
    """
    if isinstance(device_type, str):
        device_type = DeviceType.FromTag(device_type)
    return arrays_on(device_type, device_index).copy_from_host(_of_host().on(0).as_buffer(array, "array"))


def copy_to_host(array: ArrayLike) -> np.ndarray[Any, Any]:
    """Return a copy in host memory of an array on any device, as an ndarray.

    It waits for the operators that make the array, and raises what they report: the IndexError of `gather`, for one.
    """
    arrays = arrays_of((array,), ("array",))
    return arrays.copy_to_host(arrays.as_buffer(array, "array"))


def arrays_on(device_type: DeviceType, device_index: int = 0) -> Arrays:
    """Return the Arrays of a device; ValueError for a device type that operators do not run on."""
    arrays = _of_type(device_type)
    if arrays is None:
        load_all_providers()
        known = ", ".join(member.tag for member in DeviceType if _of_type(member) is not None)
        raise ValueError(f"operators do not run on {device_type.tag}; they run on {known}")
    return arrays.on(device_index)


def _arrays_of(value: ArrayLike, name: str) -> Operands:
    if isinstance(value, Placed):
        return value.operands
    host = _of_host()
    if host.recognises(value):
        return host.on(0)
    _load_all()  # an array of another library says nothing of the package that knows it
    for device_type in DeviceType:
        arrays = _of_type(device_type)
        if arrays is not None and arrays.recognises(value):
            _check_present(device_type, value, name)
            return arrays.on(arrays.index_of(value))
    return host.on(0)


def _check_present(device_type: DeviceType, value: ArrayLike, name: str) -> None:
    """Raise DeviceUnavailableError for an array of a device type that has no device."""
    manager = DeviceManagerRegistry.GetDeviceManager(device_type)
    if manager.GetDeviceCount() == 0:
        raise DeviceUnavailableError(
            f"{name} ({type(value).__qualname__}) is an array of a {device_type.tag} device, and there is none: "
            f"{manager.WhyUnavailable()}"
        )


@cache
def _load_all() -> None:
    load_all_providers()


def _of_type(device_type: DeviceType) -> DeviceArrays | None:
    manager = DeviceManagerRegistry.GetDeviceManagerOrNull(device_type)
    return None if manager is None else manager.arrays()


@cache
def _of_host() -> DeviceArrays:
    arrays = _of_type(_HOST)
    assert arrays is not None
    return arrays
