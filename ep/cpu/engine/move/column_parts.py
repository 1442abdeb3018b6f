"""Constants of launches of columns. This module imports no Numba."""

from __future__ import annotations

from typing import Final

from ep.cpu.shared.state import GRAIN_BYTES

LARGE_BYTES: Final = GRAIN_BYTES // 2
"""Bytes of the parts that one thread moves; larger ones are launches of their own."""

LARGE: Final = 2
"""The entry's result if everything is done except for the larger parts."""
