"""Operands of gradients at the ends of the range, and the worst error of a launch on all pairs of them."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ep import BinaryOp
from ep.testing.references.binary import largest_term
from ep.testing.references.slopes import gradients
from ep.testing.ulps import errors_in_ulps

_NEEDS_NO_ZERO = (BinaryOp.kScalarBasePowerGrad, BinaryOp.kRsqrtBackwardWithDyX, BinaryOp.kSqrtBackwardWithDyX)
_NEEDS_NO_ZERO += (BinaryOp.kLgammaBackwardWithDyX,)  # at its poles, the sign of the zero counts
_POWER_GRADS = (BinaryOp.kScalarBasePowerGrad, BinaryOp.kScalarExpPowerGrad)
# where e^x, 2^x, e^(x / 2) and similar terms overflow, vanish or lose bits, in float32 and in float64
_PLACES = [
    1e-3,
    0.07,
    0.3,
    0.5,
    1,
    1.5,
    2,
    3,
    5,
    9.1,
    13.2,
    14,
    17,
    18.7,
    26,
    30,
    37,
    38.4,
    44,
    52.9,
    54,
    60,
    80,
    88.5,
    89,
    102,
]
_PLACES += [104.5, 122, 128, 149, 160, 161, 174, 178, 180, 182.5, 192, 193, 196, 207, 220, 229, 250, 264.5, 277, 281]
_PLACES += [700, 709.5, 710, 745, 832.7, 837, 1000, 1024, 1074, 1399, 1401, 1416, 1420, 1424, 1425.5, 1440, 1453, 1454]
_PLACES += [1455, 1479, 1481, 1500, 1600, 2019, 2021, 2048, 2049, 2090, 2097, 2100, 2105, 3000, 1e4, 1e5]


def dys(dtype: Any) -> np.ndarray:
    """Return zeros, the smallest and the largest numbers, infinities, and NaN."""
    info = ml_dtypes.finfo(dtype)
    least, tiny, most = float(info.smallest_subnormal), float(info.tiny), float(info.max)
    positive = [0, least, 3 * least, tiny, 1, 1.7, most / 3, most, np.inf]
    return np.array([*positive, *(-value for value in positive), np.nan], np.float64).astype(dtype)


def xs(dtype: Any, op: BinaryOp) -> np.ndarray:
    """Return finite numbers of any size and both signs for which `op` is defined."""
    info = ml_dtypes.finfo(dtype)
    tiny, most = float(info.tiny), float(info.max)
    positive = [0, float(info.smallest_subnormal), tiny, tiny**0.5, *_PLACES, 2.0**60, most**0.5, most / 2, most]
    positive += [1 - float(info.eps) / 2, 1 + float(info.eps)]
    x = np.array([*positive, *(-value for value in positive)], np.float64)
    if op in (BinaryOp.kLgammaBackwardWithDyX, BinaryOp.kDigammaBackwardWithDyX):
        x = x[(x > -50) & (x < 1e10)]  # beyond, the reference takes too long
    x = x[np.abs(x) <= most].astype(dtype)
    if op is BinaryOp.kCeluBackwardWithDyY:
        x = x[x >= -100]  # y is -alpha at the least
    return x[x != 0] if op in _NEEDS_NO_ZERO else x


def worst_of(
    op: BinaryOp,
    launch: Callable[[np.ndarray, np.ndarray], np.ndarray],
    dy: np.ndarray,
    x: np.ndarray,
    attributes: tuple[float, ...],
) -> tuple[float, str]:
    """Return the largest error of `launch` on all pairs, in ulps of the largest term, and a text with its operands.

    A NaN is expected for a NaN, and if there is no slope. Results that docs/semantics.md leaves open are not compared:
    those of an infinite dy with a slope that is not a normal number, and those of a subnormal dy with a power whose
    root is beyond the range.
    """
    wide = dy.dtype if dy.dtype in (np.float32, np.float64) else np.dtype(np.float32)
    attributes = tuple(float(wide.type(attribute)) for attribute in attributes)
    want = gradients(op, dy, x, attributes)
    pairs = np.repeat(dy, x.size), np.tile(x, dy.size)
    one, at = np.ones(x.size, wide), x.astype(wide)
    with np.errstate(all="ignore"):
        term = np.abs(dy.astype(np.longdouble))[:, None] * largest_term(
            op, *((at, one) if op in _POWER_GRADS else (one, at)), *attributes
        )
        got = launch(*pairs).reshape(want.shape)
        error = errors_in_ulps(got, want, np.where(np.isfinite(term), term, 0))
    error[np.isinf(dy)] = np.where(np.isnan(want[np.isinf(dy)]), 0, error[np.isinf(dy)])
    if op in _POWER_GRADS:
        info = ml_dtypes.finfo(dy.dtype)
        size = np.abs(dy.astype(np.float64))
        subnormal = (size != 0) & (size < float(info.tiny))
        error[
            subnormal[:, None]
            & (np.sqrt(np.abs(gradients(op, np.ones(1, dy.dtype), x, attributes))) > float(info.max) / 4)
        ] = 0
    row, column = np.unravel_index(int(np.argmax(error)), error.shape)
    what = f"{op.name}{attributes} of dy {dy[row]!r}, x {x[column]!r}: got {got[row, column]!r}"
    return float(error[row, column]), f"{what}, exactly {want[row, column]!r}, {error[row, column]:.3g} ulp"
