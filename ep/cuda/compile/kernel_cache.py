"""CUDA's kernels on disk. Imports neither Numba nor a CUDA package."""

from __future__ import annotations

from typing import Final

from ep.common.kernel_cache import KernelCache

CACHE: Final = KernelCache(
    "cuda",
    ("numba", "numba-cuda", "llvmlite", "numpy", "ml_dtypes", "cuda-bindings", "nvidia-nvvm", "nvidia-nvjitlink"),
    "ep.cuda.compile.compiler",
)
