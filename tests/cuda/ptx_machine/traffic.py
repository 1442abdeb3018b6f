"""The bytes that executed instructions moved to and from global memory."""

from __future__ import annotations

from collections import Counter

from tests.cuda.ptx_machine.syntax import Instruction
from tests.cuda.ptx_machine.types import TYPES


def bytes_moved(executed: Counter[Instruction]) -> int:
    """Return the bytes of all loads, stores and atomic operations on global memory, regardless of caches."""
    return sum(count * _bytes(site) for site, count in executed.items())


def _bytes(site: Instruction) -> int:
    if site.name not in ("ld", "st", "atom", "red") or "global" not in site.modifiers:
        return 0
    lanes = next((int(modifier[1]) for modifier in site.modifiers if modifier in ("v2", "v4", "v8")), 1)
    return lanes * TYPES[site.modifiers[-1]].bytes
