"""The constants of functions in float32 arithmetic: `ep/cpu/vector_math/single`."""

from __future__ import annotations

from functools import partial
from typing import Final

import mpmath
import numpy as np
from mpmath import mp, mpf

from tools.constants.double import LN2, PI, exp_rest, log_rest, odd_rest, odd_weight
from tools.constants.fit import DIGITS, Polynomial, rounded
from tools.constants.parts import Parts, parts

mp.dps = DIGITS

_polynomial = partial(Polynomial, real=np.float32)
_parts = partial(parts, real=np.float32)

_HALF_LN2, _SQRT_TWO = LN2 / 2, mpmath.sqrt(2)
_LOG2_E, _LOG10_E = 1 / LN2, 1 / mpmath.log(10)
_REDUCED = mpf("0.7915")  # the largest |r|, somewhat more than pi / 4


def _tail_ratio(a: mpf) -> mpf:
    return a * mpmath.sqrt(PI / 2) * mpmath.exp(a * a / 2) * mpmath.erfc(a / _SQRT_TWO)


SINGLE: Final[dict[str, Polynomial | Parts]] = {
    "LN2": _parts("ln(2), the first of 16 bits,", LN2, 2, last_bit=-16),
    "HALF_PI": _parts("pi / 2", PI / 2, 3),
    "LOG2_E": _parts("1 / ln(2)", _LOG2_E, 2),
    "LOG10_E": _parts("1 / ln(10)", _LOG10_E, 2),
    "LOG10_2": _parts("ln(2) / ln(10)", LN2 * _LOG10_E, 2),
    "LN_16_13": _parts("ln(16 / 13), the first a multiple of 2^-16,", mpmath.log(mpf(16) / 13), 2, last_bit=-16),
    "LN_8_5": _parts("ln(8 / 5), the first a multiple of 2^-16,", mpmath.log(mpf(8) / 5), 2, last_bit=-16),
    "EXP": _polynomial(
        "(e^r - 1 - r) / r^2 for |r| <= ln(2) / 2",
        "e^r",
        *(exp_rest, -_HALF_LN2, _HALF_LN2, 5, lambda r: r * r * mpmath.exp(-r)),
    ),
    "EXP2": _polynomial(
        "(2^r - 1) / r for |r| <= 1/2",
        "2^r",
        lambda r: (mpmath.power(2, r) - 1) / r,
        *(mpf(-0.5), mpf(0.5), 6, lambda r: r * mpmath.power(2, -r)),
    ),
    "EXPM1": _polynomial(
        "(e^r - 1 - r) / r^2 for |r| <= ln(2) / 2",
        "e^r - 1",
        *(exp_rest, -_HALF_LN2, _HALF_LN2, 6, lambda r: r * r / mpmath.expm1(r)),
        fixed=(0.5,),
    ),
    "EXP_OF_TWICE": _polynomial(
        "(e^2r - 1) / r for |r| <= ln(2) / 4, less 2 and over r",
        "e^2r",
        lambda r: 4 * exp_rest(2 * r),
        *(-_HALF_LN2 / 2, _HALF_LN2 / 2, 5, lambda r: r * r * mpmath.exp(-2 * r)),
    ),
    "TANH": _polynomial(
        "(tanh(x) / x - 1) / x^2 in x^2, |x| <= 0.96",
        "tanh(x)",
        *(odd_rest(mpmath.tanh), mpf(0), mpf("0.96") ** 2, 7, odd_weight(mpmath.tanh)),
    ),
    "COSH": _polynomial(
        "(cosh(r) - 1) / r^2 in r^2, |r| <= ln(2) / 2",
        "cosh(r)",
        lambda z: (mpmath.cosh(mpmath.sqrt(z)) - 1) / z,
        *(mpf(0), _HALF_LN2**2, 3, lambda z: z / mpmath.cosh(mpmath.sqrt(z))),
        fixed=(0.5,),
    ),
    "SINH": _polynomial(
        "(sinh(r) / r - 1) / r^2 in r^2, |r| <= ln(2) / 2",
        "sinh(r)",
        *(odd_rest(mpmath.sinh), mpf(0), _HALF_LN2**2, 3, odd_weight(mpmath.sinh)),
    ),
    "ATANH": _polynomial(
        "(atanh(s) / s - 1) / s^2 in s^2, |s| <= 1/3",
        "atanh(s)",
        *(odd_rest(mpmath.atanh), mpf(0), mpf(1) / 9, 4, odd_weight(mpmath.atanh)),
    ),
    "ARC_TANGENT": _polynomial(
        "(atan(x) / x - 1) / x^2 in x^2, |x| <= 1",
        "atan(x)",
        *(odd_rest(mpmath.atan), mpf(0), mpf(1), 9, odd_weight(mpmath.atan)),
    ),
    "ARC_SINE": _polynomial(
        "(asin(x) / x - 1) / x^2 in x^2, |x| <= 1/2",
        "asin(x)",
        *(odd_rest(mpmath.asin), mpf(0), mpf(0.25), 5, odd_weight(mpmath.asin)),
    ),
    "LOG": _polynomial(
        "(ln(1 + f) - f) / f^2 for 1 + f between sqrt(1/2) and sqrt(2)",
        "ln(1 + f)",
        *(log_rest, 1 / _SQRT_TWO - 1, _SQRT_TWO - 1, 9, lambda f: f * f / mpmath.log1p(f)),
    ),
    "LOG2": _polynomial(
        "log2(1 + f) / f - LOG2_E[0] for 1 + f between sqrt(1/2) and sqrt(2)",
        "log2(1 + f)",
        lambda f: mpmath.log1p(f) / f * _LOG2_E - rounded(_LOG2_E, np.float32),
        *(1 / _SQRT_TWO - 1, _SQRT_TWO - 1, 11, lambda f: f / (mpmath.log1p(f) * _LOG2_E)),
        fixed=(parts("", _LOG2_E, 2, np.float32).numbers[1],),
    ),
    "LOG10": _polynomial(
        "log10(1 + f) / f - LOG10_E[0] for 1 + f between sqrt(1/2) and sqrt(2)",
        "log10(1 + f)",
        lambda f: mpmath.log1p(f) / f * _LOG10_E - rounded(_LOG10_E, np.float32),
        *(1 / _SQRT_TWO - 1, _SQRT_TWO - 1, 10, lambda f: f / (mpmath.log1p(f) * _LOG10_E)),
        fixed=(parts("", _LOG10_E, 2, np.float32).numbers[1],),
    ),
    "LOG1P": _polynomial(
        "(ln(1 + f) - f) / f^2 for 1 + f between 3/4 and 3/2",
        "ln(1 + f)",
        *(log_rest, mpf(-0.25), mpf(0.5), 9, lambda f: f * f / mpmath.log1p(f)),
        fixed=(-0.5,),
    ),
    "LOG_OF_POWER": _polynomial(
        "-2 (ln(1 + f) - f + f^2 / 2) / f^3 for |f| <= 1/7",
        "ln(1 + f)",
        lambda f: -2 * (log_rest(f) + mpf(0.5)) / f,
        *(mpf(-1) / 7, mpf(1) / 7, 6, lambda f: f**3 / (2 * mpmath.log1p(f))),
    ),
    "SOFTPLUS": _polynomial(
        "(ln(1 + f) / f - 1) / f for 0 <= f <= 1",
        "ln(1 + f)",
        *(log_rest, mpf(0), mpf(1), 9, lambda f: f * f / mpmath.log1p(f)),
        fixed=(-0.5,),
    ),
    "SINE": _polynomial(
        "(sin(r) / r - 1) / r^2 in r^2, |r| <= 0.7915",
        "sin(r)",
        *(odd_rest(mpmath.sin), mpf(0), _REDUCED**2, 3, odd_weight(mpmath.sin)),
    ),
    "COSINE": _polynomial(
        "(cos(r) - 1) / r^2 in r^2, |r| <= 0.7915",
        "cos(r)",
        lambda z: (mpmath.cos(mpmath.sqrt(z)) - 1) / z,
        *(mpf(0), _REDUCED**2, 4, lambda z: z / mpmath.cos(mpmath.sqrt(z))),
        fixed=(-0.5,),
    ),
    "COTANGENT": _polynomial(
        "(r cot(r) - 1) / r^2 in r^2, |r| <= 0.7915",
        "cot(r)",
        lambda z: (mpmath.sqrt(z) * mpmath.cot(mpmath.sqrt(z)) - 1) / z,
        *(mpf(0), _REDUCED**2, 5, lambda z: mpmath.sqrt(z) * mpmath.tan(mpmath.sqrt(z))),
    ),
    "MILLS": _polynomial(
        "a sqrt(pi / 2) e^(a^2 / 2) erfc(a / sqrt(2)) in 1 / a^2, 4.9 <= a <= 20",
        "a^2",
        lambda u: _tail_ratio(1 / mpmath.sqrt(u)),
        *(mpf(1) / 400, mpf("4.9") ** -2, 5, lambda u: u),
    ),
}

OF_ROOT: Final[dict[str, Polynomial]] = {
    "RSQRT": _polynomial(
        "(1 - e)^(-1/2) for 0.007 <= e <= 0.126",
        "itself",
        lambda e: 1 / mpmath.sqrt(1 - e),
        *(mpf("0.007"), mpf("0.126"), 3, lambda e: mpmath.sqrt(1 - e)),
    ),
}
"""The constants of the first step of both reciprocal roots, which is the same in float32 and float64 arithmetic."""
