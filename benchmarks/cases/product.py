"""Cases of matrix products: matrices of models, from one row to squares."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ep.bench.builders_product import broadcast_matmul, matmul
from ep.bench.case import Case

_WIDTH: Final = 384  # of a small model
_HEAD: Final = 32
_ROWS: Final = (1, 16, 128, 512)
_LAYERS: Final = ((384, 384), (384, 1536), (1536, 384))  # k and n
_HEADS: Final = ((128, 128, 32, True), (128, 32, 128, False), (197, 197, 64, True), (197, 64, 197, False))
_SQUARES: Final = (512, 2048)
_MOST_WEIGHTS: Final = 2**27  # elements: a result of more columns has no such case


def matmul_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield products of activations and weights, of attention heads, and of squares; of floating types alone."""
    if dtype.kind in "biu":
        return
    about: dict[str, Any] = {"dtype": dtype, "group": "matmul"}
    width = min(size, _WIDTH)
    if size * width <= _MOST_WEIGHTS:
        yield matmul("one row by weights", 1, size, width, **about)
        yield matmul("one row by transposed weights", 1, size, width, **about, transpose_b=True, core=False)
    rows, columns = _sides(size, 16)
    if columns * width <= _MOST_WEIGHTS:
        yield matmul("few rows by weights", rows, columns, width, **about)
    rows, columns = _sides(size, _WIDTH)
    yield matmul("rows by weights", columns, rows, min(size, _WIDTH), **about)
    yield matmul("rows by transposed weights", columns, rows, min(size, _WIDTH), **about, transpose_b=True, core=False)
    side = math.isqrt(size)
    yield matmul("square", side, side, side, **about)
    tokens = min(side, 128)
    heads = max(size // (tokens * tokens), 1)
    yield matmul("scores of heads", tokens, tokens, _HEAD, **about, batch_size=heads, transpose_b=True)
    yield broadcast_matmul(
        "sentences by weights", min(side, 4), max(side // 4, 1), side, min(size, _WIDTH), **about, core=False
    )


def model_cases(dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield products of models, and squares, independent of the requested sizes; of floating types alone."""
    if dtype.kind in "biu":
        return
    about: dict[str, Any] = {"dtype": dtype, "group": "products"}
    for rows in _ROWS:
        for k, n in _LAYERS:
            yield matmul(f"{rows} rows, {k:,} to {n:,}", rows, n, k, **about, has_weights=True)
    for m, n, k, transpose_b in _HEADS:
        yield matmul(f"192 of {m} x {n} x {k}", m, n, k, **about, batch_size=192, transpose_b=transpose_b)
    for side in _SQUARES:
        yield matmul(f"square of {side:,}", side, side, side, **about)


def _sides(size: int, first: int) -> tuple[int, int]:
    """Return two sides of `size` elements in all; the first is `first`, or shorter."""
    short = min(first, math.isqrt(size))
    return short, size // short
