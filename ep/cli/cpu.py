"""What the commands ask of the CPU beyond what all devices have: its threads, and the kernel cache."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from ep.common.compiling import compiling
from ep.common.kernel_cache import usage
from ep.cpu.device import available_threads as available_threads
from ep.cpu.kernel_cache import CACHE
from ep.include.device import Device


@dataclass(frozen=True)
class CacheState:
    """The folder of this version's kernels, what is in it, and what other versions left beside it."""

    folder: Path
    files: int
    size: int
    leftover_folders: int
    leftover_size: int


def cache_state() -> CacheState:
    """Look at the kernel cache, as far as it can be seen."""
    folder = CACHE.folder()
    leftovers = [usage(other)[1] for other in CACHE.folders() if other != folder]
    return CacheState(folder, *usage(folder), len(leftovers), sum(leftovers))


def clear_cache() -> int:
    """Remove all kernels, of other versions too; return the bytes that freed."""
    return CACHE.clear()


def why_cache_is_unread() -> str | None:
    """Why kernels on disk are not read, in one line; None where they are, or where there are none so far."""
    if why := CACHE.why_untrusted():
        return f"not trusted: {why}"
    if why := CACHE.why_unreadable():
        return f"cannot be read: {why}"
    return None


def why_cache_is_unwritable() -> str | None:
    """Why kernels cannot be kept between processes; None where they can."""
    return CACHE.why_unwritable()


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return found[0] if found else platform.processor() or platform.machine()


def why_threads() -> str:
    """Where the number of threads comes from."""
    if os.environ.get("EP_CPU_NUM_THREADS"):
        return "from EP_CPU_NUM_THREADS"
    return f"all of the {available_threads()} processors that this process may use; EP_CPU_NUM_THREADS changes it"


def start_threads(device: Device) -> None:
    """Start the threads that share the work of launches."""

    def start() -> None:
        from ep.cpu.kernels import runtime

        runtime.start(device)  # type: ignore[arg-type]

    compiling("what all launches share", "cpu", start)
