"""Cases of Gather, Expand, broadcasts and Permute whose rows begin anywhere in a cache line, of sizes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ep.bench.builders import binary, expand, gather
from ep.bench.builders_move import permute
from ep.bench.case import Case
from ep.include.primitive import BinaryOp

_ROWS: Final = (
    *((200_009, 100_003, row_bytes) for row_bytes in (64, 160, 192, 256)),
    (8192, 30_522, 1536),
    (4001, 50_257, 4096),
)
"""Rows that are gathered, those of the table, which does not fit in L2, and the bytes of each."""
_EXPANSIONS: Final = (
    *(((rows, 1), (rows, 1499)) for rows in (257, 2003, 6007)),
    ((100_003, 1), (100_003, 31)),
    ((1, 1499), (1009, 1499)),
    ((257, 1, 1499), (257, 7, 1499)),
    ((64, 257, 1, 1), (64, 257, 31, 17)),
)
_BROADCASTS: Final = (
    *((BinaryOp.kAdd, np.add, (1499, 1499), dims) for dims in ((1499, 1499), (1499,), (1499, 1), ())),
    (BinaryOp.kMul, np.multiply, (1499, 1499), (1499, 1499)),
    (BinaryOp.kMax, np.maximum, (1499, 1499), (1499, 1499)),
    (BinaryOp.kMul, np.multiply, (3001, 1), (1, 2999)),
)
_PERMUTATIONS: Final = (
    ("heads", (16, 197, 12, 64), (0, 2, 1, 3)),
    ("heads, transposed", (16, 12, 197, 64), (0, 2, 3, 1)),
    ("matrix", (3001, 2999), (1, 0)),
    ("channels first", (31, 197, 199, 3), (0, 3, 1, 2)),
    ("channels last", (31, 3, 197, 199), (0, 2, 3, 1)),
)


def place_cases(dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield the cases of a data type."""
    about: dict[str, Any] = {"dtype": dtype, "group": "place"}
    table = about | {"index_type": np.int64, "order": "uniform"}
    for count, rows, row_bytes in _ROWS:
        yield gather(f"{count:,} rows of {row_bytes:,} B", rows, row_bytes // dtype.itemsize, count, **table)
    for src_dims, dims in _EXPANSIONS:
        yield expand(f"{src_dims} to {dims}", src_dims, dims, **about)
    for op, numpy, dims0, dims1 in _BROADCASTS:
        yield binary(f"{numpy.__name__}, {dims0} and {dims1}", op, dims0, dims1, numpy, **about)
    for name, dims, permutation in _PERMUTATIONS:
        yield permute(name, dims, permutation, **about)
