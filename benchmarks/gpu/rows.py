"""Cases of rows that are not whole packs, of the rows of vocabularies, and of ids of which one is very frequent."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from benchmarks.gpu.scale import Scale
from ep.bench.builders import expand, gather
from ep.bench.builders_move import cut, pad
from ep.bench.builders_reduce import reduce, segment_sum, softmax
from ep.bench.case import Case
from ep.include.primitive import ReduceOp

_ODD: Final = (197, 257, 577)
"""Columns: tokens of images and of sequences with one token more."""
_VOCABULARIES: Final = (32_000, 50_257, 128_256)


def row_cases(scale: Scale, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield the cases of a floating dtype, in the order of their groups: vocabularies, odd rows, frequent ids."""
    for cols in _VOCABULARIES:
        rows = max(scale.elements // cols, 1)
        yield softmax(f"softmax, vocabulary of {cols:,}", rows, cols, dtype, group="rows")
        yield reduce(f"maximum, vocabulary of {cols:,}", ReduceOp.kMax, (rows, cols), (1,), dtype, group="rows")
    for cols in _ODD:
        rows = max(scale.elements // cols, 1)
        of_rows = partial(_named, cols)
        yield softmax(of_rows("softmax"), rows, cols, dtype, group="rows")
        yield reduce(of_rows("sum"), ReduceOp.kSum, (rows, cols), (1,), dtype, group="rows")
        yield expand(of_rows("expand"), (1, cols), (rows, cols), dtype, group="rows")
        yield pad(of_rows("pad"), (rows, cols), (0, 1), (0, 1), dtype, group="rows")
        yield cut(of_rows("cut"), (rows, cols), (0, 1), (rows, cols - 2), dtype, group="rows")
    yield segment_sum("sum, one id with rows of 768", scale.ids, 1000, 768, dtype, order="equal", group="rows")
    yield segment_sum("sum, one id with rows of 64", 2 * scale.ids, 1000, 64, dtype, order="equal", group="rows")
    yield gather("gather, one id with rows of 768", 1000, 768, scale.ids, dtype=dtype, order="equal", group="rows")


def _named(cols: int, what: str) -> str:
    return f"{what}, rows of {cols}"
