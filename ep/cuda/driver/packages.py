"""Checks whether the interpreter, packages, libraries and environment for the CUDA device are present.

No package is imported for this: Numba contains a `numba.cuda` of its own, so an import would prove nothing.
"""

from __future__ import annotations

import re
from importlib import metadata
from typing import Final

from ep.common import interpreter
from ep.common.environment import NUMBA_ENABLE_CUDASIM
from ep.version import installs

PACKAGES: Final = ("numba-cuda", "cuda-bindings")
"""The distributions that the CUDA device requires: the compiler, and the bindings of the driver."""

LIBRARIES: Final = ("nvvm", "nvrtc", "nvJitLink", "cudart")
"""The libraries that the compiler calls, by cuda-pathfinder's names: those of a CUDA toolkit work, too.

numba-cuda asks NVRTC which compute capabilities it knows, and the runtime for its version.
"""

CUBLAS_PACKAGES: Final = ("nvidia-cublas", "nvidia-cublas-cu12")
"""The distributions that contain cuBLASLt, of CUDA 13 and of CUDA 12; an installed toolkit contains it, too."""


def version_of(package: str) -> str | None:
    """Return the installed version of a distribution; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def why_no_compiler() -> str | None:
    """Return the problem with Python or the environment, or the missing or outdated package.

    It is None if there is no problem.
    """
    if why := interpreter.why_unsupported():
        return why
    if NUMBA_ENABLE_CUDASIM.value():
        return f"{NUMBA_ENABLE_CUDASIM.name} is set, with which Numba compiles nothing for a GPU; unset it"
    missing = [package for package in PACKAGES if version_of(package) is None]
    if missing:
        return f"{' and '.join(missing)} not installed; {_REMEDY}"
    version = version_of("numba-cuda") or ""
    if tuple(map(int, re.findall(r"\d+", version)[:3])) < _OLDEST_COMPILER:
        return f"numba-cuda {version} is too old: {'.'.join(map(str, _OLDEST_COMPILER))} is needed; {_REMEDY}"
    return None


def path_of(library: str) -> str | None:
    """Load one of LIBRARIES and return its path; None if it cannot be loaded."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        return str(load_nvidia_dynamic_lib(library).abs_path)
    except Exception:  # pathfinder has its own errors, and may itself be missing
        return None


def why_no_kernels() -> str | None:
    """Return the reason why kernels cannot be compiled: that of `why_no_compiler`, or missing libraries."""
    if why := why_no_compiler():
        return why
    missing = [library for library in LIBRARIES if path_of(library) is None]
    return f"{' and '.join(missing)} not found, in no package and no CUDA toolkit; {_REMEDY}" if missing else None


_REMEDY: Final = installs("cuda")
_OLDEST_COMPILER: Final = (0, 30, 4)  # as in pyproject.toml; other packages may have pinned an older one
