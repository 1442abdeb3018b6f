"""The limits of launches: those of a GPU, but for a block's shared memory, of which there is less."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ep.cuda.driver.interface import CudaError

BLOCK_THREADS: Final = 1024
SHARED_WITHOUT_OPT_IN: Final = 6 * 1024
_SHARED: Final = 12 * 1024
"""Bytes of shared memory of a block: few, so that even small data exceeds them."""

_MOST_BLOCKS: Final = 2**31 - 1, 65535, 65535
_MOST_THREADS: Final = 1024, 1024, 64
"""Of a launch, along each axis."""

_INVALID_VALUE: Final = 1


class Limits:
    """What launches may ask for. Methods raise CudaError for what no GPU takes."""

    def __init__(self, shared_bytes: int = _SHARED, without_opt_in: int = SHARED_WITHOUT_OPT_IN) -> None:
        self.shared_bytes, self.without_opt_in = shared_bytes, without_opt_in
        """The largest shared memory of a block, static and dynamic together, with the opt-in and without it."""
        self._most_dynamic: dict[Any, int] = {}

    def opt_in_shared(self, program: Any, size: int) -> None:
        """Allow launches of a program to ask for `size` bytes of dynamic shared memory."""
        if program.shared_bytes + size > self.shared_bytes:
            raise _refused("opt_in_shared", f"{program.shared_bytes} + {size} bytes of shared memory")
        self._most_dynamic[program] = size

    def check(self, program: Any, blocks: Sequence[int], threads: Sequence[int], shared_bytes: int) -> None:
        """Check a launch with `shared_bytes` bytes of dynamic shared memory for each block."""
        axes = (*zip(blocks, _MOST_BLOCKS, strict=True), *zip(threads, _MOST_THREADS, strict=True))
        if not all(0 < count <= most for count, most in axes) or math.prod(threads) > BLOCK_THREADS:
            raise _refused("launch", f"{tuple(blocks)} blocks of {tuple(threads)} threads")
        most = self._most_dynamic.get(program, max(self.without_opt_in - program.shared_bytes, 0))
        if shared_bytes > most:
            raise _refused("launch", f"{program.shared_bytes} + {shared_bytes} bytes of shared memory")


def _refused(what: str, asked: str) -> CudaError:
    return CudaError(f"the machine, {what}", _INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", f"it has no {asked}")
