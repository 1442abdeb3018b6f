"""The processors that kernels run on. Imports no Numba.

The elementary functions need a fused multiply-add for their accuracy, and float16 needs F16C: LLVM would otherwise call
functions for both that may not be there. Of an x86 this says whether it has them, where the system tells; what kernels
are compiled for may be another processor, and is looked at before the first is compiled (`compile/target.py`).
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import Final

NEEDED: Final = "a processor with fused multiply-add (FMA) and F16C, which those of x86-64 have had since 2013"

INFORMATION: Final = Path("/proc/cpuinfo")
"""The file in which Linux lists, for each processor, its name and its features."""

_FLAGS: Final = {"fma": "FMA", "f16c": "F16C"}


@cache
def why_unfit() -> str | None:
    """Return why kernels cannot run on this machine; None if they can, or where that is not known."""
    flags = information("flags").split() if platform.machine() in ("x86_64", "AMD64") else []
    missing = [name for flag, name in _FLAGS.items() if flag not in flags]
    if not flags or not missing:
        return None
    return f"it needs {NEEDED}; {information('model name') or 'this one'} has no {' and no '.join(missing)}"


def information(field: str) -> str:
    """Return what Linux says of the first processor; empty if it says nothing."""
    try:
        with INFORMATION.open() as lines:  # long where processors are many, and the first is like the others
            return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), "")
    except OSError:
        return ""
