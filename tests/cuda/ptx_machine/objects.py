"""The machine's compiled code on disk, next to the cached kernels; its keys are the PTX and the machine's sources."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba

from ep.common.kernel_cache import user_cache_folder
from ep.common.kernel_cache.container import pack, unpack
from ep.common.kernel_cache.ownership import PrivateFolder, UntrustedError


@cache
def folder_name() -> str:
    """Return the folder in the user's cache for ep with the code that these sources compile for this processor.

    Its name marks it as a folder of the CUDA device: `ep cache` counts and clears it with the folders of other
    versions.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    tools = [metadata.version(tool) for tool in ("numba", "llvmlite", "numpy")]
    digest.update(repr((tools, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())).encode())
    return f"cuda-ptx-machine-{digest.hexdigest()[:16]}"


def kept(text: str, make: Callable[[], bytes]) -> bytes:
    """Return the result of `make` for a text, from disk if it was made before. Files that others can write are not
    read.
    """
    name = f"{hashlib.sha256(text.encode()).hexdigest()}.kernel"
    full_name = f"{folder_name()}/{name}"
    with suppress(OSError, UntrustedError), PrivateFolder(user_cache_folder(), folder_name()) as folder:
        contents = unpack(full_name, folder.read(name))
        if contents is not None:
            return contents
    contents = make()
    with suppress(OSError, UntrustedError), PrivateFolder(user_cache_folder(), folder_name(), make=True) as folder:
        folder.write(name, pack(full_name, contents))
    return contents


def compiled(decorate: Callable[..., Any], *signature: Any) -> Callable[[Any], Any]:
    """Compile with Numba's `njit` or `cfunc`, and keep the compiled code in the same folder.

    Numba's own cache checks only the date of a function's file, not those of the functions that it calls.
    """

    def apply(function: Any) -> Any:
        former = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(user_cache_folder() / folder_name() / "numba")
        try:
            return decorate(*signature, cache=True)(function)
        finally:
            numba.config.CACHE_DIR = former

    return apply
