"""The report of `ep devices` and `ep doctor` on CUDA: packages, driver, and each GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ep.cuda.driver.interface import DeviceProperties
from ep.cuda.driver.packages import CUBLAS_PACKAGES, LIBRARIES, nvvm_releases, path_of, version_of
from ep.include.finding import Finding

_PARTS: Final = ("cuda-bindings", "cuda-core", "nvidia-nvvm", "nvidia-cuda-nvrtc", "nvidia-nvjitlink")


def packages() -> Finding:
    """Return the versions of numba-cuda and of its compilers."""
    version = version_of("numba-cuda")
    if version is None:
        return Finding("numba-cuda", "", "not installed; needed for CUDA devices alone")
    parts = (f"{part} {version_of(part) or '(missing)'}" for part in _PARTS)
    return Finding("numba-cuda", "", f"{version}, with {', '.join(parts)}")


def libraries() -> Iterator[Finding]:
    """Yield the path of each library that compiles kernels, and the release of NVVM, which is part of their key."""
    for library in LIBRARIES:
        path = path_of(library)
        if path and library == "nvvm" and (releases := nvvm_releases()):
            path = f"{path}, release {' with libdevice of '.join(releases)}"
        yield Finding(library, "", path or "not found; needed for CUDA devices alone")


def products() -> Finding:
    """Return the library for matrix products, found by its installation: the driver may be missing."""
    version = next(filter(None, map(version_of, CUBLAS_PACKAGES)), None)
    if version is None:
        return Finding(
            "cuBLASLt", "", "not installed as a package; needed for products of matrices on CUDA devices alone"
        )
    return Finding("cuBLASLt", "", f"nvidia-cublas {version}")


def facts(properties: DeviceProperties) -> Mapping[str, Any]:
    """Return the findings about a device."""
    return {
        "name": properties.name,
        "compute_capability": ".".join(map(str, properties.compute_capability)),
        "multiprocessors": properties.multiprocessors,
        "memory": properties.total_memory,
    }


def findings(
    index: int, properties: DeviceProperties, memory: Mapping[str, int], version: tuple[int, int]
) -> Iterator[Finding]:
    """Yield the device, its memory, and the version of CUDA that the driver supports."""
    yield Finding(f"cuda:{index}", "", _in_words(properties, memory, version))


def _in_words(properties: DeviceProperties, memory: Mapping[str, int], version: tuple[int, int]) -> str:
    said = [properties.name, f"compute capability {'.'.join(map(str, properties.compute_capability))}"]
    said.append(f"{properties.multiprocessors} multiprocessors")
    said.append(f"{memory['free'] / 2**30:.1f} of {memory['total'] / 2**30:.1f} GiB free")
    said.append(f"the driver supports CUDA {'.'.join(map(str, version))}")
    return ", ".join(said)
