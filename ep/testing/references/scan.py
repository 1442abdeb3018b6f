"""Scan, one element after the other, in wider types."""

import numpy as np

from ep.include.primitive import ScanOp


def scan(op: ScanOp, src: np.ndarray) -> np.ndarray:
    """Return the sums or products along axis 1: integers in their own type, others in long double."""
    is_sum, to_end = op in (ScanOp.kSum, ScanOp.kSumToEnd), op in (ScanOp.kSumToEnd, ScanOp.kProdToEnd)
    wide = src
    if src.dtype.kind not in "iu":  # NumPy does not support bfloat16 itself, but converts it to float64
        wide = src.astype(np.clongdouble if src.dtype.kind == "c" else np.float64)
        wide = wide if src.dtype.kind == "c" else wide.astype(np.longdouble)
    result, size = wide.copy(), src.shape[1]
    with np.errstate(all="ignore"):
        for n in range(size - 2, -1, -1) if to_end else range(1, size):
            before = result[:, n + 1 if to_end else n - 1]
            result[:, n] = before + wide[:, n] if is_sum else before * wide[:, n]
    return result
