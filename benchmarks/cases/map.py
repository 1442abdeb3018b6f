"""Cases of conversions, selections, sums, fills and one-hot encodings, all bound by memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import ml_dtypes
import numpy as np

from benchmarks.cases.common import shape
from ep.bench.builders_map import add, cast, fill, one_hot, tensor_fill, transpose, where
from ep.bench.case import Case

_CAST_TO: Final = tuple(
    map(np.dtype, (np.float32, np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.int32, np.int64, np.bool_))
)
_CORE_CASTS: Final = {("float32", "float16"), ("float32", "bfloat16"), ("float16", "float32"), ("bfloat16", "float32")}
_OPERANDS: Final = (2, 3, 4, 8)
_DEPTHS: Final = (10, 100, 1000)


def cast_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield casts of `dtype` to others, and one by strides."""
    for dst_type in _CAST_TO:
        if dst_type != dtype:
            core = (dtype.name, dst_type.name) in _CORE_CASTS
            yield cast(f"cast to {dst_type.name}", (size,), dtype, dst_type, group="cast", core=core)
    rows, columns = shape(size, 2)
    yield transpose("cast a transpose to float32", rows, columns, dtype, np.float32, group="cast", core=False)


def where_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield selections between operands of one shape, rows, columns and single elements."""
    rows, columns = dims = shape(size, 2)
    about: dict[str, Any] = {"dtype": dtype, "group": "where"}
    yield where("where, one shape", (size,), (size,), (size,), **about)
    yield where("where, or a scalar", (size,), (size,), (), **about)
    yield where("where of rows", (rows, 1), dims, (columns,), **about, core=False)
    yield where("where of columns", (columns,), dims, dims, **about, core=False)


def add_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield sums of a few operands."""
    for count in _OPERANDS:
        yield add(f"add {count} operands", count, (size,), dtype, group="add", core=count != 3)


def fill_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield fills with one number."""
    yield fill("fill", (size,), dtype, group="fill")
    yield tensor_fill("fill with an element", (size,), dtype, group="fill", core=False)


def one_hot_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield one-hot encodings with few and with many classes."""
    for depth in [depth for depth in _DEPTHS if depth <= size] or [size]:
        rows = max(size // depth, 1)
        yield one_hot(f"one-hot of {depth:,}", rows, depth, dtype, group="one-hot", core=depth == _DEPTHS[-1])
