"""Cases of sizes that are not powers of two, independent of the requested sizes; `place` has those of moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import ml_dtypes
import numpy as np

from benchmarks.cases.common import RELATIVE_ERROR
from benchmarks.cases.unary import unary_case
from ep.bench.builders_map import cast
from ep.bench.builders_move import pad
from ep.bench.builders_product import matmul
from ep.bench.builders_reduce import reduce, softmax
from ep.bench.case import Case
from ep.include.primitive import ReduceOp, UnaryOp

_FEW, _MANY = 60_000, 9_000_011
_PRODUCTS: Final = (
    ("192 of 128 x 128 x 32, b transposed", 192, 128, 128, 32, True),
    ("192 of 197 x 64 x 197", 192, 197, 64, 197, False),
    ("128 x 384 x 384", 0, 128, 384, 384, False),
    ("128 x 384 x 384, b transposed", 0, 128, 384, 384, True),
    ("128 x 1,536 x 384", 0, 128, 1536, 384, False),
    ("4,096 x 64 x 64", 0, 4096, 64, 64, False),
    ("512 cubed", 0, 512, 512, 512, False),
    ("512 cubed, b transposed", 0, 512, 512, 512, True),
    ("700 cubed", 0, 700, 700, 700, False),
)
"""Name, number of matrices or 0 for one product, m, n, k, and whether b is transposed."""
_REDUCTIONS: Final = (
    ("sum of channels", ReduceOp.kSum, (64, 257, 31, 17), (0, 2, 3)),
    ("sum of all", ReduceOp.kSum, (3001, 2999), (0, 1)),
    ("sum of rows", ReduceOp.kSum, (3001, 2999), (1,)),
    ("maximum of a sentence's words", ReduceOp.kMax, (16, 197, 768), (2,)),
    ("mean of a sentence's words", ReduceOp.kMean, (16, 197, 768), (2,)),
)
_CASTS: Final = (np.float32, np.int8, ml_dtypes.bfloat16, np.float16)


def odd_cases(dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield products, reductions, softmaxes, and maps of floating types, and casts and borders of all."""
    about: dict[str, Any] = {"dtype": dtype, "group": "odd"}
    for target in map(np.dtype, _CASTS):
        if target != dtype:
            yield cast(f"cast to {target.name}", (_MANY,), dtype, target, group="odd")
    yield pad("10 elements of each plane, padded", (1000, 3, 2, 5), (0, 0, 1, 1), (0, 0, 1, 1), **about)
    if dtype.kind in "biu":
        return
    for name, batch_size, m, n, k, transpose_b in _PRODUCTS:
        yield matmul(name, m, n, k, batch_size=batch_size, transpose_b=transpose_b, **about)
    for name, op, dims, axes in _REDUCTIONS:
        yield reduce(name, op, dims, axes, **about)
    yield softmax("softmax of 31 columns, gradient", 100_003, 31, backward=True, **about)
    for of_each in (UnaryOp.kGelu, UnaryOp.kRsqrt):
        for size in (_FEW, _MANY):
            case = unary_case(of_each, size, dtype, relative_error=RELATIVE_ERROR[dtype], group="odd")
            yield replace(case, name=f"{case.name} of {size:,}")
