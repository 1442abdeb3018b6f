"""Cases of sizes that are not powers of two, independent of the requested sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import ml_dtypes
import numpy as np

from ep.bench import numpy_ways
from ep.bench.builders import RELATIVE_ERROR, binary, gather
from ep.bench.builders_map import cast
from ep.bench.builders_move import pad, permute
from ep.bench.builders_product import matmul
from ep.bench.builders_reduce import reduce, softmax
from ep.bench.case import Case
from ep.bench.cases_unary import unary_case
from ep.include.primitive import BinaryOp, ReduceOp, UnaryOp

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
_TABLE_ROWS, _INDICES = 100_003, 200_009
_ROW_BYTES: Final = (160, 256)
"""Of rows that no power of two places in lines, and of rows of four lines; neither table fits in L2."""
_CASTS: Final = (np.float32, np.int8, ml_dtypes.bfloat16, np.float16)


def odd_cases(dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield products, reductions, softmaxes, moves and maps of floating types, and casts, borders and rows of all."""
    about: dict[str, Any] = {"dtype": dtype, "group": "odd"}
    table = about | {"index_type": np.int64}
    for target in map(np.dtype, _CASTS):
        if target != dtype:
            yield cast(f"cast to {target.name}", (_MANY,), dtype, target, group="odd")
    yield pad("10 elements of each plane, padded", (1000, 3, 2, 5), (0, 0, 1, 1), (0, 0, 1, 1), **about)
    for row_bytes in _ROW_BYTES:
        row = row_bytes // dtype.itemsize
        yield gather(f"200,009 rows of {row_bytes} B", _TABLE_ROWS, row, _INDICES, order="uniform", **table)
    if dtype.kind in "biu":
        return
    for name, batch_size, m, n, k, transpose_b in _PRODUCTS:
        yield matmul(name, m, n, k, batch_size=batch_size, transpose_b=transpose_b, **about)
    for name, op, dims, axes in _REDUCTIONS:
        yield reduce(name, op, dims, axes, **about)
    yield softmax("softmax of 31 columns, gradient", 100_003, 31, backward=True, **about)
    yield permute("heads", (16, 197, 12, 64), (0, 2, 1, 3), **about)
    yield binary("outer product", BinaryOp.kMul, (3001, 1), (1, 2999), numpy_ways.BINARY[BinaryOp.kMul], **about)
    for of_each in (UnaryOp.kGelu, UnaryOp.kRsqrt):
        for size in (_FEW, _MANY):
            case = unary_case(of_each, size, dtype, relative_error=RELATIVE_ERROR[dtype], group="odd")
            yield replace(case, name=f"{case.name} of {size:,}")
