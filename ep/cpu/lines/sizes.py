"""The sizes for writing rows in cache lines. Imports no Numba."""

from __future__ import annotations

from typing import Final

LINE: Final = 64
"""Bytes of a cache line."""

LEAST_STREAMED_ROW: Final = 1024
"""The least bytes of rows that are written with non-temporal stores although they may begin inside a line."""
