"""Errors in units of the last place."""

import ml_dtypes
import numpy as np


def errors_in_ulps(
    got: np.ndarray, want: np.ndarray, at_least: np.ndarray | float = 0, signed_zeros: bool = False
) -> np.ndarray:
    """Return |got - want| in spacings of got's type at `want`, 0 if both are the same NaN or infinity, else inf.

    want: the exact values, in long double.
    at_least: a magnitude; if `want` is smaller, the spacing at this magnitude is used.
    signed_zeros: whether a zero with the wrong sign is infinitely wrong.
    An infinity instead of one of the largest numbers counts as the next power of two.
    """
    info = ml_dtypes.finfo(got.dtype)
    with np.errstate(all="ignore"):
        size = np.maximum(np.maximum(np.abs(want), np.longdouble(float(info.tiny))), at_least)
        exponent = np.frexp(np.where(np.isfinite(size), size, 1))[1]
        wide = got.astype(np.float64).astype(np.longdouble) if got.dtype.itemsize == 2 else got.astype(np.longdouble)
        error = np.abs(wide - want) / np.ldexp(np.longdouble(1), exponent - info.nmant - 1)
        overflow = np.isinf(wide) & np.isfinite(want) & (np.sign(wide) == np.sign(want))
        limit = np.ldexp(np.longdouble(1), info.maxexp)
        last_spacing = np.ldexp(np.longdouble(1), info.maxexp - info.nmant - 1)
        # a result beyond the largest number rounds to infinity
        beyond = np.where(np.abs(want) >= limit - last_spacing / 2, 0, np.abs(limit - np.abs(want)) / last_spacing)
        error = np.where(overflow, beyond, error)
        if signed_zeros:
            error = np.where((wide == 0) & (want == 0) & (np.signbit(wide) != np.signbit(want)), np.inf, error)
        same = (np.isnan(wide) & np.isnan(want)) | (np.isinf(wide) & (wide == want))
    return np.where(same, 0, np.where(np.isnan(error), np.inf, error)).astype(np.float64)
