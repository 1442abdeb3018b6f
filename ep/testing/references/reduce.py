"""Reduce, by NumPy in wider types, and the scale of its errors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.include import DataType
from ep.include.number_kind import Kind, number_kind
from ep.include.primitive import ReduceOp


def exact(op: ReduceOp, src: np.ndarray, axes: Sequence[int], data_type: DataType) -> Any:
    """Return the exact result along axes, flat: integers and bools in their own type, others in long double."""
    kind, axis = number_kind(data_type), tuple(axes)
    if op in (ReduceOp.kAny, ReduceOp.kAll):
        return (np.any if op is ReduceOp.kAny else np.all)(src != 0, axis=axis).reshape(-1)
    wide = src
    if kind in (Kind.FLOAT, Kind.COMPLEX):  # NumPy does not support bfloat16 itself, but converts it to float64
        wide = src.astype(np.clongdouble if kind is Kind.COMPLEX else np.float64)
        wide = wide if kind is Kind.COMPLEX else wide.astype(np.longdouble)
    with np.errstate(all="ignore"):
        if op in (ReduceOp.kMin, ReduceOp.kMax):
            return (np.min if op is ReduceOp.kMin else np.max)(wide, axis=axis).reshape(-1)
        if kind is Kind.BOOL:
            return (np.any if op is ReduceOp.kSum else np.all)(wide, axis=axis).reshape(-1)
        if op is ReduceOp.kProd:
            return np.prod(wide, axis=axis, dtype=wide.dtype).reshape(-1)
        total = np.sum(wide, axis=axis, dtype=wide.dtype)
        count = np.prod([src.shape[a] for a in axis], dtype=np.int64)
        return (total / count if op is ReduceOp.kMean else total).reshape(-1)


def magnitude(op: ReduceOp, src: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Return the scale for errors of sums and means: the sum, or mean, of the magnitudes."""
    wide = np.abs(src.astype(np.clongdouble if src.dtype.kind == "c" else np.float64)).astype(np.longdouble)
    with np.errstate(all="ignore"):
        total = np.sum(wide, axis=tuple(axes), dtype=np.longdouble)
        count = np.prod([src.shape[a] for a in axes], dtype=np.int64)
        return (total / count if op is ReduceOp.kMean else total).reshape(-1)
