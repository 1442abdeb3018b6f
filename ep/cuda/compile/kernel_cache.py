"""CUDA's kernels on disk. Imports neither Numba nor a CUDA package.

Kernels are valid in each Python: their key has the sources, options and compute capability, and the versions of the
compilers that write PTX. The assembler is not among them: each computes what the PTX says. The host code that launches
kernels reads objects of Python and NumPy, so its key has the versions of these, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ep.common.kernel_cache import KernelCache
from ep.common.kernel_cache.versions import versions_of
from ep.cuda.driver.packages import nvvm_releases

_ROOMS: Final = ("common", "cuda", "include", "run")


def _of_kernels(tools: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    return versions_of(tools), nvvm_releases()


KERNELS: Final = KernelCache("cuda-kernels", ("numba", "numba-cuda", "llvmlite"), _ROOMS, _of_kernels)

CACHE: Final = KernelCache(
    "cuda",
    ("numba", "numba-cuda", "llvmlite", "numpy", "ml_dtypes", "cuda-bindings", "nvidia-nvvm", "nvidia-nvjitlink"),
    _ROOMS,
    portable=KERNELS,
)
"""The host code that launches kernels, and plans; with KERNELS, all that is kept for CUDA."""
