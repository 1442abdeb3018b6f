"""What the commands ask of CUDA devices beyond what all devices have: packages, driver, and what the GPU is."""

from __future__ import annotations

from typing import Any, Final

from ep.common.environment import NUMBA_ENABLE_CUDASIM
from ep.cuda.device import CudaDevice
from ep.cuda.driver import driver
from ep.cuda.packages import version_of
from ep.include.device import Device

_PARTS: Final = ("cuda-bindings", "cuda-core", "nvidia-nvvm", "nvidia-nvjitlink")


def versions() -> str | None:
    """The version of numba-cuda and of what compiles with it; None where it is not installed."""
    version = version_of("numba-cuda")
    if version is None:
        return None
    parts = (f"{part} {version_of(part) or '(missing)'}" for part in _PARTS)
    return f"{version}, with {', '.join(parts)}"


def facts(device: Device) -> dict[str, Any]:
    """What there is to say of a CUDA device; nothing for other devices."""
    if not isinstance(device, CudaDevice):
        return {}
    properties = device.properties
    return {
        "name": properties.name,
        "compute_capability": ".".join(map(str, properties.compute_capability)),
        "multiprocessors": properties.multiprocessors,
        "memory": properties.total_memory,
        "simulated": device.simulated,
    }


def details(device: Device) -> str | None:
    """The device, its memory, and what the driver supports, in words; None for a device that is no CUDA device."""
    if not isinstance(device, CudaDevice):
        return None
    properties, memory = device.properties, device.memory_figures()
    said = [properties.name, f"compute capability {'.'.join(map(str, properties.compute_capability))}"]
    if device.simulated:
        return ", ".join((*said, f"in place of a GPU since {NUMBA_ENABLE_CUDASIM.name} is set"))
    said.append(f"{properties.multiprocessors} multiprocessors")
    said.append(f"{memory['free'] / 2**30:.1f} of {memory['total'] / 2**30:.1f} GiB free")
    said.append(f"the driver supports CUDA {'.'.join(map(str, driver().version()))}")
    return ", ".join(said)
