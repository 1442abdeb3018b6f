"""Cases of Gather: rows of all widths, on every axis, by indices in any order, in batches, and as in transformers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ep.bench.builders import batch_gather, gather
from ep.bench.case import Case

_ROW_BYTES: Final = (1, 2, 4, 7, 8, 64, 256, 1024, 3072, 16384)
_CORE_ROW_BYTES: Final = (4, 64, 1024, 3072)
_CACHED_TABLE: Final = 2**18  # bytes
_TRANSFORMER_ROWS: Final = (2, 7, 30, 114)
_I64: Final = np.dtype(np.int64)


def gather_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield gathers with about `size` elements in the result; by default, a table has the same number of elements."""
    about: dict[str, Any] = {"dtype": dtype, "index_type": _I64, "order": "uniform", "group": "gather"}
    for row_bytes in _ROW_BYTES:
        if row_bytes % dtype.itemsize == 0 and (row := row_bytes // dtype.itemsize) <= max(size, 1):
            core = row_bytes in _CORE_ROW_BYTES
            yield gather(f"rows of {row_bytes} B", size // row, row, size // row, core=core, **about)
    row = 64 // dtype.itemsize
    if size < 16 * row:
        return
    rows = size // row
    for order in ("sorted", "skewed"):
        yield gather(f"rows of 64 B, {order}", rows, row, rows, **about | {"order": order})
        yield gather(f"single elements, {order}", size, 1, size, core=False, **about | {"order": order})
    yield gather("rows of 64 B, int32 indices", rows, row, rows, core=False, **about | {"index_type": np.int32})
    for row_bytes in (64, 3072):
        wide = row_bytes // dtype.itemsize
        if size >= wide:
            table = _CACHED_TABLE // row_bytes
            yield gather(f"rows of {row_bytes} B, table of 256 KiB", table, wide, size // wide, core=False, **about)
    yield gather("rows of 64 B, middle axis", rows // 16, row, rows // 16, outer=16, **about)
    yield gather("last axis", rows, 1, rows, outer=row, **about)


def batch_gather_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield gathers in 16 batches with about `size` elements in the result."""
    row = 64 // dtype.itemsize
    about: dict[str, Any] = {"dtype": dtype, "group": "gather"}
    if size < 16 * row:
        yield batch_gather("one batch", 1, size, 1, size, **about)
        return
    rows = size // row // 16
    yield batch_gather("rows of 64 B, 16 batches", 16, rows, row, rows, **about)
    yield batch_gather("rows of 64 B, 16 batches, skewed", 16, rows, row, rows, **about, order="skewed", core=False)
    yield batch_gather("single elements, 16 batches", 16, size // 16, 1, size // 16, **about, core=False)
    if size >= 512 * row:
        yield batch_gather("rows of 64 B, 512 batches", 512, rows // 32, row, rows // 32, **about, core=False)


def transformer_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield gathers from [5, 8, N, 64] on axis 2, for each N with a result of `size` to twice `size` elements."""
    for length in _TRANSFORMER_ROWS:
        if size <= 40 * length * 64 < 2 * size:
            name = f"[5, 8, {length}, 64] on axis 2"
            about: dict[str, Any] = {
                "dtype": dtype,
                "index_type": _I64,
                "order": "uniform",
                "group": "gather",
                "outer": 40,
            }
            yield gather(name, length, 64, length, **about)
