"""The sizes of the processor's caches."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path("/sys/devices/system/cpu/cpu0/cache")
_UNKNOWN: Final = 2**25  # bytes of a last-level cache of unknown size
_UNKNOWN_SECOND: Final = 2**18  # the same for L2
_SHARE: Final = 2**24  # bytes of the last-level cache that a processor may count on, at most
_SCATTERED: Final = 4


@cache
def scattered_from() -> int:
    """Return the most bytes that a launch writes with ordinary stores if it does not write dst in the order of memory.

    This is a part of the last-level caches: such writes wait for each line that they fetch. On a Zen 4, matrices of 9
    to 72 MB were transposed at 22 to 28 GB/s with non-temporal stores, at 15 to 18 with ordinary ones; below 4 MB
    ordinary ones are faster.
    """
    return last_level_caches(1) // _SCATTERED


@cache
def far_from() -> int:
    """Return the most bytes of an operand that the last-level cache keeps near; larger operands are prefetched."""
    return last_level_caches(1) // 2


@cache
def second_cache() -> int:
    """Return the bytes of L2 that a processor has for itself."""
    of_level = (size // processors for level, size, processors in _caches(_FOLDER) if level == 2)
    return max(of_level, default=0) or _UNKNOWN_SECOND


def last_level_caches(num_processors: int, folder: Path = _FOLDER) -> int:
    """Return the bytes of the last-level caches that `num_processors` processors have together.

    A virtual machine may report a cache that it shares with many others. So a processor's part is limited to `_SHARE`,
    which is more than on any Intel processor.
    """
    _, size, sharing = max(_caches(folder), default=(0, 0, 1))
    size = size or _sysconf("SC_LEVEL3_CACHE_SIZE") or _UNKNOWN
    return min(size * -(-num_processors // sharing), _SHARE * num_processors)


@cache
def _caches(folder: Path) -> tuple[tuple[int, int, int], ...]:
    """Return the level, the bytes and the processors of each cache. The files are read once."""
    return tuple(_cache(index) for index in folder.glob("index*"))


def _cache(index: Path) -> tuple[int, int, int]:
    """Return level, bytes and processors of a cache. Level and bytes are 0 if they cannot be read."""
    try:
        level, size, processors = ((index / name).read_text() for name in ("level", "size", "shared_cpu_list"))
        ranges = [[int(end) for end in part.split("-")] for part in processors.split(",")]
        return int(level), 1024 * int(size.strip().removesuffix("K")), sum(ends[-1] - ends[0] + 1 for ends in ranges)
    except (OSError, ValueError):
        return 0, 0, 1


def _sysconf(name: str) -> int:
    return max(os.sysconf(name), 0) if name in getattr(os, "sysconf_names", ()) else 0


def are_far(num_bytes: int) -> bool:
    """Return whether launches that read and write so many bytes may be too large for the caches, by any calibration.

    If so, kernels with non-temporal stores are compiled, and prefetch what comes from memory.
    """
    return num_bytes > 5 * last_level_caches(1) // 2
