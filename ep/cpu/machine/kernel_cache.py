"""The CPU's kernels on disk. Imports no Numba."""

from __future__ import annotations

from typing import Final

from ep.common.kernel_cache import KernelCache

CACHE: Final = KernelCache("cpu", ("numba", "llvmlite", "numpy", "ml_dtypes"), ("common", "cpu", "include"))
