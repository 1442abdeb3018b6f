"""Whether the CUDA device has the interpreter, the packages, the libraries and the environment that it needs.

Of packages nothing is imported to find out: Numba has a `numba.cuda` of its own, which proves nothing.
"""

from __future__ import annotations

import re
from importlib import metadata
from typing import Final

from ep.common import interpreter
from ep.common.environment import NUMBA_ENABLE_CUDASIM

PACKAGES: Final = ("numba-cuda", "cuda-bindings")
"""The distributions that the CUDA device cannot do without: the compiler, and the way to the driver."""

LIBRARIES: Final = ("nvvm", "nvJitLink")
"""The libraries that the compiler calls, by the names that cuda-pathfinder has: those of a CUDA toolkit will do, too.
"""

CUBLAS_PACKAGES: Final = ("nvidia-cublas", "nvidia-cublas-cu12")
"""The distributions that bring cuBLASLt, of CUDA 13 and of CUDA 12; a toolkit that is installed brings it too."""


def version_of(package: str) -> str | None:
    """Return the installed version of a distribution; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def why_no_compiler() -> str | None:
    """Return what is wrong with Python or the environment, or which package is missing or too old.

    None if all is right.
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
    """Return where one of LIBRARIES is, which is loaded; None if there is none that can be."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        return str(load_nvidia_dynamic_lib(library).abs_path)
    except Exception:  # pathfinder has errors of its own, and is a package that may be missing itself
        return None


def why_no_kernels() -> str | None:
    """Return what keeps kernels from being compiled: what `why_no_compiler` says, or libraries that are missing."""
    if why := why_no_compiler():
        return why
    missing = [library for library in LIBRARIES if path_of(library) is None]
    return f"{' and '.join(missing)} not found, in no package and no CUDA toolkit; {_REMEDY}" if missing else None


_REMEDY: Final = "pip install 'ep[cuda]'"
_OLDEST_COMPILER: Final = (0, 30, 4)  # as in pyproject.toml; other packages may have pinned an older one
