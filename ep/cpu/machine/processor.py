"""The processors that kernels run on. Imports no Numba.

The elementary functions need a fused multiply-add for their accuracy, and float16 needs F16C: without them LLVM would
call functions that may not exist. This module checks that an x86 processor has them, if the system reports it.
Kernels may be compiled for another processor, which is checked before the first compilation (`compile/target.py`).
"""

from __future__ import annotations

import platform
from functools import cache
from typing import Final

from ep.common.processors import information

NEEDED: Final = "a processor with fused multiply-add (FMA) and F16C, which those of x86-64 have had since 2013"

_FLAGS: Final = {"fma": "FMA", "f16c": "F16C"}


@cache
def why_unfit() -> str | None:
    """Return the reason why kernels cannot run on this machine. None if they can, or if that is unknown."""
    flags = information("flags").split() if platform.machine() in ("x86_64", "AMD64") else []
    missing = [name for flag, name in _FLAGS.items() if flag not in flags]
    if not flags or not missing:
        return None
    return f"it needs {NEEDED}; {information('model name') or 'this one'} has no {' and no '.join(missing)}"
