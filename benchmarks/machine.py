"""Where and with what the measurements were made."""

from __future__ import annotations

import datetime
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from benchmarks.instructions import HOST

_PACKAGES: Final = (
    *("ep", "numpy", "numba", "llvmlite", "ml_dtypes"),
    *("torch", "numexpr", "jax", "jaxlib", "onnxruntime"),
)


def describe(threads: int, isa: str = HOST) -> dict[str, Any]:
    """Machine, versions, date, threads, and the instructions that libraries were held to."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "threads": threads,
        "isa": isa,
        "machine": {
            "processor": _field("/proc/cpuinfo", "model name") or platform.processor(),
            "processors": os.cpu_count(),
            "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            "memory": _field("/proc/meminfo", "MemTotal"),
            "caches": _caches(),
            "system": platform.platform(),
        },
        "python": platform.python_version(),
        "versions": {name: version for name in _PACKAGES if (version := _version(name))},
    }


def _field(path: str, name: str) -> str:
    if not Path(path).exists():
        return ""
    fields = (line.partition(":") for line in Path(path).read_text().splitlines())
    return next((value.strip() for key, _, value in fields if key.strip() == name), "")


def _caches() -> dict[str, str]:
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        found[f"L{level} {kind.lower()}"] = size
    return found


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
