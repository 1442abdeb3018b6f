"""Add, one operand after the other."""

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from ep.testing.references.convert import convert


def total(srcs: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sum from the left: 16-bit floats in float32 and rounded once, integers modulo 2^n, bools with OR."""
    dtype = srcs[0].dtype
    if len(srcs) == 1:
        return srcs[0].copy()
    if dtype == np.bool_:
        return np.asarray(np.any(srcs, axis=0))
    is_half = dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
    with np.errstate(all="ignore"):  # overflow, and infinity minus infinity
        result = srcs[0].astype(np.float32 if is_half else dtype)
        for src in srcs[1:]:
            result = result + src.astype(result.dtype)
        return convert(result, dtype) if is_half else result
