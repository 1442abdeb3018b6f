"""The compiled kernels on disk, for the commands: those of every device type that keeps some."""

from __future__ import annotations

from collections.abc import Iterable

from ep.cli import present
from ep.include.compiled_kernels import CompiledKernels, KernelsOnDisk
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType


def on_disk(device_types: Iterable[DeviceType] | None = None) -> dict[str, KernelsOnDisk]:
    """Return the kernels on disk, by the tag of the device type: of some device types, or of all."""
    return {tag: kernels.on_disk() for tag, kernels in _kernels(device_types).items()}


def folders(kernels: KernelsOnDisk) -> str:
    """Return the folders of kernels as text."""
    return " and ".join(str(folder) for folder in (kernels.folder, kernels.portable_folder) if folder)


def clear(tag: str) -> int:
    """Remove all kernels of a device type, of other versions too; return the number of bytes freed."""
    return _kernels([DeviceType.FromTag(tag)])[tag].clear()


def _kernels(device_types: Iterable[DeviceType] | None) -> dict[str, CompiledKernels]:
    found = {}
    for device_type in present.device_types() if device_types is None else device_types:
        manager = DeviceManagerRegistry.GetDeviceManagerOrNull(device_type)
        if manager is not None and (kernels := manager.compiled_kernels()) is not None:
            found[device_type.tag] = kernels
    return found
