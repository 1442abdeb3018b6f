"""The description of the parts in a launch of columns. Imports no Numba."""

from __future__ import annotations

from typing import Final

from ep.cpu.shared.state import GRAIN_BYTES

LARGE_BYTES: Final = GRAIN_BYTES // 2
"""Bytes of the parts that one thread moves; larger ones are launches of their own."""

LARGE: Final = 2
"""The value that the entry returns if only the larger parts are left."""
