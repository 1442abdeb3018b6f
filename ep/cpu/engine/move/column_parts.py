"""Constants of launches of columns. This module imports no Numba."""

from __future__ import annotations

from typing import Final

from ep.cpu.shared.state import GRAIN_BYTES

LARGE_BYTES: Final = GRAIN_BYTES // 2
"""The most bytes of a part that one thread moves; a larger part is a launch of its own."""

MOST_PARTS: Final = 256
"""The most parts of one call of the entry, which compares those that are written with each other."""

LARGE: Final = 2
"""The entry's result if everything is done except for the larger parts."""
