"""On which device an operator runs: the one that its operands are on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np

from ep.include.device_type import DeviceType
from ep.include.process import exclusively
from ep.ops.arrays import Array, ArrayLike, Arrays
from ep.ops.cpu.arrays import CpuArrays

_CPU: Final = CpuArrays()
_NUMBERS: Final = (bool, int, float, complex)
_PLAIN: Final = frozenset([np.ndarray, *_NUMBERS])
_OF_THE_HOST: Final = (np.ndarray, np.generic, list, tuple)
_DLPACK_CUDA: Final = (2, 13)  # kDLCUDA, kDLCUDAManaged


class _Provider(NamedTuple):
    """`recognises` says whether a value is an array of the device type; `arrays` makes its Arrays, by device index."""

    recognises: Callable[[Any], bool]
    of_value: Callable[[Any], Arrays]
    of_device: Callable[[int], Arrays]


_providers: dict[DeviceType, _Provider] = {}


def register_arrays(
    device_type: DeviceType,
    recognises: Callable[[Any], bool],
    of_value: Callable[[Any], Arrays],
    of_device: Callable[[int], Arrays],
) -> None:
    """Let operators run on a further type of device, on operands that it recognises.

    recognises: whether a value is an array of the device type. It is asked about whatever is neither an ndarray nor a
        number, so it should be quick, and import nothing.
    of_value: the Arrays for the device that such a value is on.
    of_device: the Arrays for a device, by its number.
    """
    _providers[device_type] = _Provider(recognises, of_value, of_device)


def arrays_of(operands: Sequence[ArrayLike], names: Sequence[str]) -> Arrays:
    """Return the Arrays of the device that the operands are on; where all are Python numbers, those of the CPU.

    Raises TypeError where they are on different devices, naming two of them.
    """
    for value in operands:
        if type(value) not in _PLAIN:
            break
    else:  # what most calls are
        return _CPU
    found: Arrays | None = None
    name_of_found = ""
    for value, name in zip(operands, names, strict=True):
        if is_weak(value):
            continue
        arrays = _arrays_of(value)
        if found is None:
            found, name_of_found = arrays, name
        elif arrays.place != found.place:
            raise TypeError(
                f"{name} ({type(value).__qualname__}) is on {arrays.place}, {name_of_found} is on {found.place}; "
                f"copy one of them to the other's device first"
            )
    return found or _CPU


def is_weak(value: Any) -> bool:
    """Whether a value is a Python number, which goes along with arrays of any dtype and device."""
    # numpy.float64 is a subclass of float
    return isinstance(value, _NUMBERS) and not isinstance(value, np.generic)


def copy_to_device(array: ArrayLike, device_type: DeviceType | str, device_index: int = 0) -> Array:
    """Return a copy, on a device, of an array in host memory.

    array: what NumPy makes an array of, or what exports DLPack from host memory.
    device_type: such as DeviceType.kCUDA, or its tag.

    On the CPU that is an ndarray, on CUDA a CudaArray. Raises DeviceUnavailableError where there is no such device.
    """
    if isinstance(device_type, str):
        device_type = DeviceType.FromTag(device_type)
    return arrays_on(device_type, device_index).copy_from_host(_CPU.as_buffer(array, "array"))


def copy_to_host(array: ArrayLike) -> np.ndarray[Any, Any]:
    """Return a copy in host memory of an array on any device, as an ndarray.

    It waits for the operators that make the array, and raises what they report: the IndexError of `gather`, for one.
    """
    arrays = arrays_of((array,), ("array",))
    return arrays.copy_to_host(arrays.as_buffer(array, "array"))


def arrays_on(device_type: DeviceType, device_index: int = 0) -> Arrays:
    """Return the Arrays of a device; ValueError for a device type that operators do not run on."""
    if device_type is DeviceType.kCPU:
        return _CPU
    if device_type not in _providers:
        known = ", ".join(member.tag for member in (DeviceType.kCPU, *_providers))
        raise ValueError(f"operators do not run on {device_type.tag}; they run on {known}")
    return _providers[device_type].of_device(device_index)


def _arrays_of(value: ArrayLike) -> Arrays:
    if isinstance(value, _OF_THE_HOST):
        return _CPU
    for provider in tuple(_providers.values()):
        if provider.recognises(value):
            return provider.of_value(value)
    return _CPU


def _is_on_cuda(value: Any) -> bool:
    if type(value).__qualname__ == "FakeCUDAArray":  # of Numba's simulator; it says of itself what its ndarray says
        return True
    if hasattr(value, "__dlpack_device__"):  # cheaper than the interface of some libraries, which may refuse
        with suppress(Exception):  # each library has its own for what it does not export
            return value.__dlpack_device__()[0] in _DLPACK_CUDA
    return hasattr(value, "__cuda_array_interface__")


@cache
def _cuda() -> Any:
    return exclusively(lambda: import_module("ep.ops.cuda.arrays"))


register_arrays(
    DeviceType.kCUDA,
    _is_on_cuda,
    lambda value: _cuda().arrays_of(value),
    lambda index: _cuda().arrays_on(index),
)
