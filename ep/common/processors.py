"""The processors of this machine, as the system describes them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

INFORMATION: Final = Path("/proc/cpuinfo")
"""The file in which Linux lists the name and the features of each processor."""

_OF_MODEL: Final = (
    *("vendor_id", "cpu family", "model", "model name", "stepping", "flags"),  # x86
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features"),  # Arm
)
_FEATURES: Final = "flags", "Features"


def available_threads() -> int:
    """Return the number of processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def information(field: str) -> str:
    """Return a field of Linux's information about the first processor; empty if there is none."""
    return _first().get(field, "")


def description() -> str | None:
    """Return the model and the features of the first processor, in one text; None if they are not reported."""
    found = _first()
    if not any(found.get(field) for field in _FEATURES):
        return None
    return "\n".join(f"{field}: {found[field]}" for field in _OF_MODEL if field in found)


def _first() -> dict[str, str]:
    """Return the fields of the first processor; the file is long if there are many, which are like the first."""
    fields = {}
    try:
        with INFORMATION.open() as lines:
            for line in lines:
                name, colon, value = line.partition(":")
                if not colon:
                    break
                fields[name.strip()] = value.strip()
    except OSError:
        return {}
    return fields
