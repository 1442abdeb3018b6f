"""Conversion between element types, the slow way."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

# The number of significant bits, and the exponent of the smallest subnormal number.
_FORMATS = {
    np.dtype(np.float16): (11, -24),
    np.dtype(ml_dtypes.bfloat16): (8, -133),
    np.dtype(np.float32): (24, -149),
    np.dtype(np.float64): (53, -1074),
}


def convert(values: np.ndarray, dst_dtype: Any) -> np.ndarray:
    """Return `values` in `dst_dtype`.

    To bool: x != 0. From floating point to integers: truncated and saturated; NaN gives 0. Between integers: wrapped.
    To floating point: rounded once, to nearest even. From real to complex: with a zero imaginary part.
    """
    with np.errstate(all="ignore"):  # overflow to infinity, and signalling NaNs
        return _convert(np.asarray(values), np.dtype(dst_dtype))


def _convert(values: np.ndarray, dst: np.dtype) -> np.ndarray:
    if dst == np.bool_:
        return np.asarray(values != 0)
    if dst.kind == "c":
        part = np.dtype(np.float32 if dst == np.complex64 else np.float64)
        result = np.empty(values.shape, dst)
        result.real, result.imag = _convert(values.real, part), _convert(values.imag, part)
        return result
    if values.dtype.kind == "c":
        raise TypeError("no conversion from complex to real")
    if dst.kind in "iu":
        return values.astype(dst) if values.dtype.kind in "biu" else _saturated(values, dst)
    return _rounded(values.astype(np.longdouble), dst)


def _saturated(values: np.ndarray, dst: np.dtype) -> np.ndarray:
    info = np.iinfo(dst)
    values = np.trunc(values.astype(np.longdouble))
    too_low = values <= np.longdouble(info.min)
    too_high = values >= np.longdouble(2) ** (info.bits - (dst.kind == "i"))
    plain = np.where(np.isnan(values) | too_low | too_high, 0, values).astype(dst)
    return np.where(too_low, dst.type(info.min), np.where(too_high, dst.type(info.max), plain)).astype(dst)


def _rounded(values: np.ndarray, dst: np.dtype) -> np.ndarray:
    digits, lowest = _FORMATS[dst]
    _, exponent = np.frexp(np.where(np.isfinite(values), values, 0))
    quantum = np.maximum(exponent - digits, lowest)
    # rint rounds to nearest even; a carry into one more digit still gives a number of the format.
    rounded = np.ldexp(np.rint(np.ldexp(values, -quantum)), quantum)
    return np.where(np.isfinite(values), rounded, values).astype(np.float64).astype(dst)
