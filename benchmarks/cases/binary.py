"""Cases of binary ops: the ways in which two operands broadcast, and ops that are bound by computation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from benchmarks.cases.common import FLOATS, RELATIVE_ERROR, shape
from ep.bench import numpy_ways
from ep.bench.builders import binary
from ep.bench.case import Case
from ep.include.primitive import BinaryOp

Dims = tuple[int, ...]

_SMALLEST: Final = 64
"""The size below which all ways to broadcast are the same."""


def layouts(size: int) -> Iterator[tuple[str, Dims, Dims]]:
    """Yield ways to broadcast, each with the dims of two operands whose result has about `size` elements."""
    yield "same shape", (size,), (size,)
    yield "scalar", (size,), ()
    if size < _SMALLEST:
        return
    rows, columns = shape(size, 2)
    yield "row", (rows, columns), (columns,)
    yield "column", (rows, columns), (rows, 1)
    batch, channels, pixels = shape(size, 3)
    yield "channel bias", (batch, channels, pixels), (channels, 1)
    yield "outer product", (rows, 1), (1, columns)
    a, b, c, d = shape(size, 4)
    yield "alternating axes", (a, b, c, d), (a, 1, c, 1)


def binary_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield every way to broadcast an addition to `size` elements, products and comparisons of two, and powers."""
    for layout, dims0, dims1 in layouts(size):
        yield _case("add", BinaryOp.kAdd, layout, dims0, dims1, dtype)
    for layout, dims0, dims1 in list(layouts(size))[:3]:
        yield _case("mul", BinaryOp.kMul, layout, dims0, dims1, dtype, core=False)
        yield _case("less", BinaryOp.kLessThan, layout, dims0, dims1, dtype, dst_type=np.bool_, core=False)
        if dtype in FLOATS:
            about: dict[str, Any] = {
                "relative_error": RELATIVE_ERROR[dtype],
                "domain": (0.1, 10.0),
                "group": "transcendental",
            }
            yield _case("pow", BinaryOp.kPow, layout, dims0, dims1, dtype, core=layout == "same shape", **about)


def _case(word: str, op: BinaryOp, layout: str, dims0: Dims, dims1: Dims, dtype: np.dtype[Any], **about: Any) -> Case:
    about = {"group": "binary", **about}
    return binary(f"{word}, {layout}", op, dims0, dims1, numpy_ways.BINARY[op], dtype=dtype, **about)
