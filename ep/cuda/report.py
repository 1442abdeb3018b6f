"""What `ep devices` and `ep doctor` say of CUDA: packages, driver, and what each GPU is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ep.common.environment import NUMBA_ENABLE_CUDASIM
from ep.cuda.packages import CUBLAS_PACKAGES, version_of
from ep.include.finding import Finding

if TYPE_CHECKING:
    from ep.cuda.device import CudaDevice

_PARTS: Final = ("cuda-bindings", "cuda-core", "nvidia-nvvm", "nvidia-nvjitlink")


def packages() -> Finding:
    """The version of numba-cuda and of what compiles with it."""
    version = version_of("numba-cuda")
    if version is None:
        return Finding("numba-cuda", "", "not installed; needed for CUDA devices alone")
    parts = (f"{part} {version_of(part) or '(missing)'}" for part in _PARTS)
    return Finding("numba-cuda", "", f"{version}, with {', '.join(parts)}")


def products() -> Finding:
    """The library that multiplies matrices, looked for where it is installed: the driver may be missing."""
    version = next(filter(None, map(version_of, CUBLAS_PACKAGES)), None)
    if version is None:
        return Finding(
            "cuBLASLt", "", "not installed as a package; needed for products of matrices on CUDA devices alone"
        )
    return Finding("cuBLASLt", "", f"nvidia-cublas {version}")


def facts(device: CudaDevice) -> Mapping[str, Any]:
    """What there is to say of a device."""
    properties = device.properties
    return {
        "name": properties.name,
        "compute_capability": ".".join(map(str, properties.compute_capability)),
        "multiprocessors": properties.multiprocessors,
        "memory": properties.total_memory,
        "simulated": device.simulated,
    }


def findings(device: CudaDevice) -> Iterator[Finding]:
    """The device, its memory, and what the driver supports."""
    yield Finding(f"cuda:{device.device_index()}", "", _in_words(device))


def _in_words(device: CudaDevice) -> str:
    properties, memory = device.properties, device.memory_figures()
    said = [properties.name, f"compute capability {'.'.join(map(str, properties.compute_capability))}"]
    if device.simulated:
        return ", ".join((*said, f"in place of a GPU since {NUMBA_ENABLE_CUDASIM.name} is set"))
    said.append(f"{properties.multiprocessors} multiprocessors")
    said.append(f"{memory['free'] / 2**30:.1f} of {memory['total'] / 2**30:.1f} GiB free")
    said.append(f"the driver supports CUDA {'.'.join(map(str, device.driver.version()))}")
    return ", ".join(said)
