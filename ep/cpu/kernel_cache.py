"""The CPU's kernels on disk. Imports no Numba."""

from __future__ import annotations

from typing import Final

from ep.common.kernel_cache import KernelCache, usage, user_cache_folder

__all__ = ["clear", "kernel_folder", "kernel_folders", "read", "sources_changed", "usage", "user_cache_folder", "write"]

_CACHE: Final = KernelCache("cpu", ("numba", "llvmlite", "numpy", "ml_dtypes"))

kernel_folder = _CACHE.folder
kernel_folders = _CACHE.folders
sources_changed = _CACHE.sources_changed
read = _CACHE.read
write = _CACHE.write
clear = _CACHE.clear
