"""The contracts: devices, streams and events here, the primitives in `ep.include.primitive`."""

from ep.include.active_device_guard import ActiveDeviceGuard
from ep.include.allocation_options import AllocationOptions
from ep.include.arrays import Arrays, DeviceArrays
from ep.include.buffer import Buffer
from ep.include.compiled_kernels import CompiledKernels, KernelsOnDisk
from ep.include.data_type import DataType, DTypeLike, as_data_type
from ep.include.device import Device, kMaxAlignmentRequirement
from ep.include.device_manager import DeviceManager
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.errors import (
    Argument,
    ArgumentError,
    ArgumentIndexError,
    ArgumentTypeError,
    ArgumentValueError,
    DeviceUnavailableError,
    DuplicateRegistrationError,
    EnvironmentVariableError,
    UnsupportedPrimitiveError,
)
from ep.include.event import Event
from ep.include.finding import Finding
from ep.include.stream import Stream

__all__ = [
    "ActiveDeviceGuard",
    "AllocationOptions",
    "Argument",
    "ArgumentError",
    "ArgumentIndexError",
    "ArgumentTypeError",
    "ArgumentValueError",
    "Arrays",
    "Buffer",
    "CompiledKernels",
    "DTypeLike",
    "DataType",
    "Device",
    "DeviceArrays",
    "DeviceManager",
    "DeviceManagerRegistry",
    "DeviceType",
    "DeviceUnavailableError",
    "DuplicateRegistrationError",
    "EnvironmentVariableError",
    "Event",
    "Finding",
    "KernelsOnDisk",
    "Stream",
    "UnsupportedPrimitiveError",
    "as_data_type",
    "kMaxAlignmentRequirement",
]


def __dir__() -> list[str]:
    return [*__all__, "primitive"]
