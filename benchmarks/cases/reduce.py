"""Cases of sums and orders along axes: rows of logits, activations along each axis, and gradients of embeddings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ep.bench.builders_reduce import reduce, scan, scatter, segment_sum, softmax, sort
from ep.bench.case import Case
from ep.include.primitive import ReduceOp

_COLS: Final = 128, 1024, 50257
_ROWS_OF: Final = 31, 64, 197, 512, 1000, 4096, 50257
_CHANNELS: Final = 64
_WORDS: Final = 4096


def softmax_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield softmaxes of rows of attention, of a layer, of a vocabulary, and of one row; of floating types alone."""
    if dtype.kind in "biu":
        return
    about: dict[str, Any] = {"dtype": dtype, "group": "softmax"}
    for cols in _COLS:
        width = min(cols, size)
        yield softmax(f"softmax, {cols} columns", size // width, width, **about)
    yield softmax("softmax, one row", 1, size, **about, core=False)
    rows, cols = max(size // _COLS[1], 1), min(_COLS[1], size)
    yield softmax("softmax, odd columns", size // min(31, size), min(31, size), **about, core=False)
    yield softmax("log-softmax", rows, cols, **about, log=True)
    yield softmax("softmax, gradient", rows, cols, **about, backward=True)
    yield softmax("log-softmax, gradient", rows, cols, **about, log=True, backward=True, core=False)


def row_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield the four softmaxes of short and long rows; of floating types alone."""
    if dtype.kind in "biu":
        return
    for log in (False, True):
        for backward in (False, True):
            name = f"{'LogSoftmax' if log else 'Softmax'}{'Backward' if backward else ''}"
            for cols in _ROWS_OF:
                width = min(cols, size)
                yield softmax(
                    f"{name} of {cols:,} columns",
                    *(size // width, width, dtype),
                    log=log,
                    backward=backward,
                    group="rows",
                    core=False,
                )


def reduce_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield sums, means and maxima along the last, the first, the middle and all axes, and maxima of short rows."""
    about: dict[str, Any] = {"dtype": dtype, "group": "reduce"}
    side, channels, short = math.isqrt(size), min(_CHANNELS, math.isqrt(size)), min(16, size)
    matrix, inner = (size // side, side), math.isqrt(size // channels)
    images = (size // (channels * inner), channels, inner)
    for name, op in (("sum", ReduceOp.kSum), ("maximum", ReduceOp.kMax), ("mean", ReduceOp.kMean)):
        if op is ReduceOp.kMean and dtype.kind in "biu":
            continue
        core = op is ReduceOp.kSum
        yield reduce(f"{name}, last axis", op, matrix, (1,), **about, core=core)
        yield reduce(f"{name}, first axis", op, matrix, (0,), **about, core=core)
        yield reduce(f"{name}, middle axis", op, images, (1,), **about, core=core)
        yield reduce(f"{name}, all", op, (size,), (0,), **about, core=core)
    yield reduce("maximum of short rows", ReduceOp.kMax, (size // short, short), (1,), **about)
    yield reduce("any, all", ReduceOp.kAny, (size,), (0,), **about, core=False)


def segment_sum_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield gradients of an embedding, by ids like words, uniform, in order, or all equal; single elements."""
    about: dict[str, Any] = {"dtype": dtype, "group": "segment sum"}
    inner = min(768, math.isqrt(size))
    segments = size // inner
    ids = min(max(segments // 12, 1), _WORDS)
    yield segment_sum("sum of words' gradients", ids, segments, inner, **about)
    yield segment_sum("sum of random segments", ids, segments, inner, **about, order="uniform", core=False)
    yield segment_sum("sum of sorted segments", ids, segments, inner, **about, order="sorted")
    yield segment_sum("sum into one segment", ids, segments, inner, **about, order="equal")
    yield segment_sum("sum of single elements", size, max(size // 16, 1), 1, **about, core=False)
    batch = min(4, segments)
    yield segment_sum("sum of batches' segments", ids, segments // batch, inner, **about, batch=batch, core=False)


def scatter_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield writes of rows, and of single elements, in a random order."""
    inner = min(768, math.isqrt(size))
    about: dict[str, Any] = {"dtype": dtype, "group": "scatter"}
    yield scatter("scatter of rows", max(size // inner, 1), inner, **about)
    yield scatter("scatter of single elements", size, 1, **about, core=False)


def scan_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield running sums along the last axis, the first axis, and one long row."""
    about: dict[str, Any] = {"dtype": dtype, "group": "scan"}
    side = math.isqrt(size)
    yield scan("running sum, last axis", (size // side, side), 1, **about)
    yield scan("running sum, first axis", (size // side, side), 0, **about)
    yield scan("running sum, one row", (1, size), 1, **about, core=False)


def sort_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield places of largest elements of rows, five and all in order."""
    about: dict[str, Any] = {"dtype": dtype, "group": "sort"}
    side = math.isqrt(size)
    rows = size // side
    yield sort("place of the largest", rows, side, 1, **about)
    yield sort("five largest", rows, side, min(5, side), **about)
    yield sort("sorted rows", rows, side, side, **about)
    yield sort("sorted row", 1, size, size, **about, core=False)
