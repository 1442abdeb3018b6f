"""Finds the packages and libraries of the CUDA device, in site-packages or along PYTHONPATH, and says what is missing.

Packages are found by their metadata: Numba contains a `numba.cuda` of its own, so an import would prove nothing.
"""

from __future__ import annotations

import ctypes
import re
import sys
from contextlib import suppress
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
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

_CONTAINED_IN: Final = {
    "nvvm": ("nvidia-nvvm",),
    "nvrtc": ("nvidia-cuda-nvrtc",),
    "nvJitLink": ("nvidia-nvjitlink",),
    "cudart": ("nvidia-cuda-runtime",),
    "cublasLt": CUBLAS_PACKAGES,
}
"""The distributions that contain a library."""


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
    if (imported := sys.modules.get("numba.cuda")) and not _is_of_numba_cuda(imported.__file__):
        folder = str(metadata.distribution("numba-cuda").locate_file(""))
        return (
            "the program has imported the numba.cuda of Numba, not that of numba-cuda, whose .pth file Python does not "
            f"read on PYTHONPATH; call site.addsitedir({folder!r}) before"
        )
    return None


def _is_of_numba_cuda(file: str | None) -> bool:
    return "numba_cuda" in Path(file or "").parts


def redirect_numba_cuda() -> None:
    """Let numba-cuda take the place of `numba.cuda`, which it does by a line of a .pth file.

    Python runs these lines in folders of packages, but not on PYTHONPATH, where a folder of packages may be, too.
    """
    if (spec := find_spec("numba.cuda")) and _is_of_numba_cuda(spec.origin):
        return
    for file in metadata.files("numba-cuda") or ():
        if file.suffix == ".pth":
            for line in file.read_text().splitlines():
                if line.startswith("import "):
                    exec(line, {})


def load(library: str) -> str:
    """Load a library, by cuda-pathfinder's name, and return its path; raises cuda-pathfinder's errors.

    cuda-pathfinder takes what is loaded already, then looks into site-packages, Conda's environment, the loader's
    folders (LD_LIBRARY_PATH) and CUDA_HOME, but not along PYTHONPATH. What it does not find is loaded from the
    distribution that contains it, wherever Python finds this.
    """
    from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

    try:
        return str(load_nvidia_dynamic_lib(library).abs_path)
    except DynamicLibNotFoundError:
        if (file := _file_of(library)) is None:
            raise
        ctypes.CDLL(file, ctypes.RTLD_GLOBAL)
        return str(load_nvidia_dynamic_lib(library).abs_path)


def _file_of(library: str) -> str | None:
    """Return the path of a library in an installed distribution; None if none has it."""
    for package in _CONTAINED_IN.get(library, ()):
        with suppress(metadata.PackageNotFoundError):
            for file in metadata.files(package) or ():
                if file.name.startswith(f"lib{library}.so") and (path := Path(str(file.locate()))).exists():
                    return str(path)
    return None


def load_libraries() -> None:
    """Load LIBRARIES before numba-cuda and cuda-bindings ask cuda-pathfinder for them; they report what is missing."""
    for library in LIBRARIES:
        path_of(library)


_EMPTY_MODULE: Final = """
target triple = "nvptx64-unknown-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64\
-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
!nvvmir.version = !{{!0}}
!0 = !{{i32 {}, i32 {}, i32 {}, i32 {}}}
"""


@cache
def nvvm_releases() -> tuple[str, ...]:
    """Return the release of NVVM, such as 13.5.37, then that of libdevice if it is another one; none without NVVM.

    NVVM may be that of a package or of a toolkit. It says its release at the head of PTX alone, so it compiles an empty
    module, in 2 ms. numba-cuda takes libdevice from the package if that is installed.
    """
    try:
        load("nvvm")
        from cuda.bindings import nvvm

        program, module = nvvm.create_program(), _EMPTY_MODULE.format(*nvvm.ir_version()).encode()
        nvvm.add_module_to_program(program, module, len(module), "")
        nvvm.compile_program(program, 0, [])
        text = bytearray(nvvm.get_compiled_result_size(program))
        nvvm.get_compiled_result(program, text)
        nvvm.destroy_program(program)
    except Exception:  # as for `path_of`
        return ()
    head = text.decode(errors="replace").partition(".version")[0]
    found = re.search(r"\bV(\d+(\.\d+)+)", head)
    release = found[1] if found else head
    return tuple(dict.fromkeys((release, version_of("nvidia-nvvm") or release)))


def path_of(library: str) -> str | None:
    """Load one of LIBRARIES and return its path; None if it cannot be loaded."""
    try:
        return load(library)
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
