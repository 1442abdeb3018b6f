"""The sizes by which rows are written in lines. Imports no Numba."""

from __future__ import annotations

from typing import Final

LINE: Final = 64
"""Bytes of a line of the caches."""

LEAST_STREAMED_ROW: Final = 1024
"""Bytes of rows that are written with non-temporal stores in whole lines where each row may begin anywhere in one."""
