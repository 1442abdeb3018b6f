"""What the commands ask of the kernels on disk, the CPU's and CUDA's. Whatever keeps them from being read is found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ep.common.kernel_cache import usage
from ep.cpu.kernel_cache import CACHE as CPU_CACHE
from ep.cuda.kernel_cache import CACHE as CUDA_CACHE
from ep.include.errors import EnvironmentVariableError


@dataclass(frozen=True)
class CacheState:
    """The folder of this version's kernels for the CPU, what is in it, and what else is beside it.

    folder: None where not even that can be told.
    why_unusable: what keeps the kernels from being read; the numbers are 0 then.
    """

    folder: Path | None
    files: int = 0
    size: int = 0
    leftover_folders: int = 0
    leftover_size: int = 0
    cuda_files: int = 0
    cuda_size: int = 0
    why_unusable: str | None = None


def state() -> CacheState:
    """Look at the kernels. Nothing is raised: what is wrong is part of the answer."""
    folder = None
    try:
        folder = CPU_CACHE.folder()
        if why := CPU_CACHE.why_untrusted() or CPU_CACHE.why_unreadable():
            return CacheState(folder, why_unusable=why)
        leftovers = [usage(other)[1] for other in CPU_CACHE.folders() if other != folder]
        cuda = [usage(other) for other in CUDA_CACHE.folders()]
        return CacheState(
            folder,
            *usage(folder),
            leftover_folders=len(leftovers),
            leftover_size=sum(leftovers),
            cuda_files=sum(files for files, _ in cuda),
            cuda_size=sum(size for _, size in cuda),
        )
    except (OSError, RuntimeError, EnvironmentVariableError) as error:  # RuntimeError: there is no home folder
        return CacheState(folder, why_unusable=str(error))


def why_unwritable() -> str | None:
    """Why kernels cannot be kept between processes; None where they can."""
    return CPU_CACHE.why_unwritable()


def clear() -> int:
    """Remove all kernels, of other versions too; return the bytes that freed."""
    return CPU_CACHE.clear() + CUDA_CACHE.clear()
