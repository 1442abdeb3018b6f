"""The device that an operator runs on: the one of its operands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.arrays.checks import NUMBERS, as_scalar, is_weak
from ep.common.arrays.on_device import arrays_of_type, arrays_on, as_device_type
from ep.common.checks import as_integer
from ep.include.arrays import Array, ArrayLike, Arrays, DeviceArrays, Operands, Placed
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType, load_all_providers
from ep.include.errors import ArgumentValueError, DeviceUnavailableError

_PLAIN: Final = frozenset([np.ndarray, *NUMBERS])
_HOST: Final = DeviceType.kCPU
"""The device type of NumPy's arrays and of numbers, which also raises the errors for unsupported values."""
_RECORDER: Final[ContextVar[tuple[Operands, str] | None]] = ContextVar("_RECORDER", default=None)


def arrays_of(operands: Sequence[ArrayLike], names: Sequence[str]) -> Operands:
    """Return the reader of operands, as a rule the Arrays of their device; for numbers, those of the CPU.

    An ndarray without axes is a number beside arrays that are not NumPy's.

    Raises TypeError, which names two of them, if they are on different devices, and DeviceUnavailableError for an array
    of a device type that has no device here.
    """
    for value in operands:
        if type(value) not in _PLAIN:
            break
    else:  # most calls
        return _of_host().on(0)
    found: Operands | None = None
    name_of_found, first = "", None
    for value, name in zip(operands, names, strict=True):
        if isinstance(value, Placed):
            arrays = value.operands
            if arrays is found:
                continue
        elif is_weak(as_scalar(value)):
            continue
        else:
            arrays = _arrays_of(value, name)
        if found is None:
            found, name_of_found, first = arrays, name, value
        elif arrays.place != found.place:
            given = (first, name_of_found, found), (value, name, arrays)
            for one, its_name, its_arrays in given:
                if its_arrays.place == _of_host().on(0).place:
                    its_arrays.as_buffer(one, its_name)  # raises for what is no array, such as None
            for (*_, its_arrays), (one, its_name, _) in (given, given[::-1]):
                if its_arrays.stranger:
                    raise TypeError(f"{its_name} ({type(one).__qualname__}) {its_arrays.stranger}")
            raise TypeError(
                f"{name} ({type(value).__qualname__}) is on {arrays.place}, {name_of_found} is on {found.place}; "
                "bring one of them to where the other is first"
            )
    return found or _of_host().on(0)


def with_scalars(arrays: Operands, values: Sequence[ArrayLike]) -> Sequence[ArrayLike]:
    """Return values with the number in each ndarray without axes instead of it, unless `arrays` are the host's."""
    return values if arrays.place == _of_host().on(0).place else [as_scalar(one) for one in values]


def as_array(arrays: Operands, buffer: Array, name: str) -> Array:
    """Return a buffer in the form that other functions of `ep.ops` take: as an array of its device, if it is none.

    The buffers of a device need not be its arrays: they may be ndarrays, which are the host's.
    """
    if (
        not isinstance(arrays, Arrays)
        or arrays.takes_host_arrays
        or arrays_of((buffer,), (name,)).place == arrays.place
    ):
        return buffer
    return arrays.delivered(buffer, None)


@contextmanager
def recording(operands: Operands, place: str) -> Iterator[None]:
    """Make new arrays, which have no operands, constants of a recording in `place`, unless they are put elsewhere."""
    token = _RECORDER.set((operands, place))
    try:
        yield
    finally:
        _RECORDER.reset(token)


def chosen(device: DeviceType | str | None, device_index: int) -> Operands:
    """Return where a new array is put: by default, where the operators that call are recorded, else on the CPU.

    Raises TypeError or ValueError, which names the argument, for other values, DeviceUnavailableError if there is none.
    """
    recorder = _RECORDER.get()
    if device is None and recorder is not None and as_integer(device_index, "device_index") == 0:
        return recorder[0]
    arrays = _arrays_at(_HOST if device is None else device, device_index, "device")
    return recorder[0] if recorder is not None and recorder[1] == arrays.place else arrays


def _arrays_at(device: DeviceType | str, device_index: int, name: str) -> Arrays:
    device = as_device_type(device, name)
    index = as_integer(device_index, "device_index")
    manager = DeviceManagerRegistry.GetDeviceManagerOrNull(device)
    count = 0 if manager is None else manager.GetDeviceCount()
    if count and not 0 <= index < count:
        raise ArgumentValueError("device_index", f"is {index}; the number of {device.tag} devices is {count}")
    return arrays_on(device, index)


def copy_to_device(array: ArrayLike, device_type: DeviceType | str, device_index: int = 0) -> Array:
    """Return a copy, on a device, of an array in host memory.

    array: anything that NumPy converts to an array, or that exports DLPack from host memory.
    device_type: such as DeviceType.kCUDA, or its tag.

    On the CPU the copy is an ndarray, on CUDA a CudaArray. Raises DeviceUnavailableError if there is no such device.
    """
    arrays = _arrays_at(device_type, device_index, "device_type")
    return arrays.copy_from_host(_of_host().on(0).as_buffer(array, "array"))


def copy_to_host(array: ArrayLike) -> np.ndarray[Any, Any]:
    """Return a copy in host memory of an array on any device, as an ndarray.

    It waits for the operators that compute the array, and raises the errors that they report, such as the IndexError of
    `gather`.
    """
    arrays = arrays_of((array,), ("array",))
    return arrays.copy_to_host(arrays.as_buffer(array, "array"))


def _arrays_of(value: ArrayLike, name: str) -> Operands:
    host = _of_host()
    if host.recognises(value):
        return host.on(0)
    _load_all()  # an array of another library does not name the package that supports it
    for device_type in DeviceType:
        arrays = arrays_of_type(device_type)
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


@cache
def _of_host() -> DeviceArrays:
    arrays = arrays_of_type(_HOST)
    assert arrays is not None
    return arrays
