"""The constants of float64 functions: `ep/cpu/vector_math/coefficients.py` and `tabled/coefficients.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import mpmath
from mpmath import mp, mpf

from tools.constants.fit import DIGITS, Polynomial
from tools.constants.parts import Parts, nearest, parts, powers

mp.dps = DIGITS

LN2: Final = mpmath.log(2)
PI: Final = +mpmath.pi
DIGAMMA_ROOT: Final = mpmath.findroot(lambda x: mpmath.psi(0, x), 1.4616)
_ERF_ONE: Final = nearest(mpmath.erf(1))
_ERF_ROOT: Final = mpmath.root(1 - mpf(_ERF_ONE), 4)


def scaled_erfc(x: Any) -> Any:
    """Return e^(x^2) erfc(x)."""
    return mpmath.exp(x * x) * mpmath.erfc(x)


def exp_rest(r: Any) -> Any:
    """Return (e^r - 1 - r) / r^2."""
    return (mpmath.expm1(r) - r) / r**2


def log_rest(f: Any) -> Any:
    """Return (ln(1 + f) - f) / f^2."""
    return (mpmath.log1p(f) - f) / f**2


def odd_rest(function: Any) -> Any:
    """Return the function (f(x) / x - 1) / x^2 of z = x^2, for an odd f."""
    return lambda z: (function(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z


def odd_weight(function: Any) -> Any:
    """Return the weight that makes the error of `odd_rest` relative to f."""
    return lambda z: z * mpmath.sqrt(z) / function(mpmath.sqrt(z))


def _four_factors(b: Any) -> Any:
    return b * (b + 1) * (b + 2) * (b + 3)


def _reciprocal(a: Any) -> Any:
    return ((mpmath.rgamma(a) - 1) / ((a - 1) * (a - 2)) + mpf(0.5)) / a


def _stirling_rest(z: Any) -> Any:
    a = 1 / mpmath.sqrt(z)
    return a * (mpmath.loggamma(a) - (a - mpf(0.5)) * (mpmath.log(a) - 1) - (mpmath.log(2 * PI) - 1) / 2)


def _digamma_rest(z: Any) -> Any:
    b = 1 / mpmath.sqrt(z)
    return (mpmath.log(b) - 1 / (2 * b) - mpmath.psi(0, b)) * b**2


def _trigamma_rest(z: Any) -> Any:
    b = 1 / mpmath.sqrt(z)
    return (mpmath.psi(1, b) - 1 / b - 1 / (2 * b**2)) * b**3


def _cotangent_rest(z: Any) -> Any:
    r = mpmath.sqrt(z)
    return (1 / r - PI * mpmath.cot(PI * r)) / r


def _rational(centre: int) -> Any:
    """Return the function of q = (x - centre) / (x + centre) that gives x."""
    return lambda q: centre * (1 + q) / (1 - q)


def _erfc_product(q: Any) -> Any:
    x = _rational(4)(q)
    return (x + 4) * scaled_erfc(x)


def _gelu_product(q: Any) -> Any:
    x = _rational(5)(q)
    return (x + 5) * scaled_erfc(x / mpmath.sqrt(2)) / 2


def _fourth_root(y: Any) -> Any:
    return mpmath.root(mpmath.erfc(1 + y), 4)


def _words(value: Callable[[], Any], count: int) -> tuple[int, ...]:
    """Return the first 64 * count bits of value(), which is below 1, as words."""
    bits = 64 * count
    with mpmath.workprec(bits + 64):
        number = int(mpmath.floor(mpmath.ldexp(value(), bits)))
    return tuple(number >> (bits - 64 * (i + 1)) & (2**64 - 1) for i in range(count))


_HALF_LN2 = LN2 / 2

COMPUTED: Final[dict[str, Polynomial | Parts]] = {
    "HALF_PI": parts("pi / 2", PI / 2, 3),
    "PI": parts("pi", PI, 3),
    "TWO_OVER_PI_WORDS": Parts("The first bits of 2 / pi, 64 in a number.", _words(lambda: 2 / mpmath.pi, 20)),
    "TWO_OVER_PI": parts("2 / pi", 2 / PI, 1),
    "ONE_OVER_PI": parts("1 / pi", 1 / PI, 1),
    "TWO_OVER_SQRT_PI": parts("2 / sqrt(pi)", 2 / mpmath.sqrt(PI), 1),
    "SQRT_TWO_OVER_PI": parts("sqrt(2 / pi)", mpmath.sqrt(2 / PI), 1),
    "TAN_EIGHTH": parts("tan(pi / 8)", mpmath.tan(PI / 8), 1),
    "TAN_THREE_EIGHTHS": parts("tan(3 pi / 8)", mpmath.tan(3 * PI / 8), 1),
    "STIRLING_CONSTANT": parts("(ln(2 pi) - 1) / 2", (mpmath.log(2 * PI) - 1) / 2, 1),
    "DIGAMMA_ROOT": parts("The root of psi above 0", DIGAMMA_ROOT, 2),
    "ERF_ONE": parts("erf(1)", mpmath.erf(1), 1),
    "ERF_TWICE": parts("2 c for c^4 = 1 - ERF_ONE", 2 * _ERF_ROOT, 1),
    "ERF_SQUARE": parts("2 c^2", 2 * _ERF_ROOT**2, 1),
    "EXP": Polynomial(
        "(e^r - 1 - r) / r^2 for |r| <= ln(2) / 2",
        "e^r",
        *(exp_rest, -_HALF_LN2, _HALF_LN2, 10, lambda r: r * r * mpmath.exp(-r)),
    ),
    "EXPM1": Polynomial(
        "(e^r - 1 - r) / r^2 for |r| <= ln(2) / 2",
        "e^r - 1",
        *(exp_rest, -_HALF_LN2, _HALF_LN2, 11, lambda r: r * r / mpmath.expm1(r)),
        fixed=(0.5,),
    ),
    "EXP2": Polynomial(
        "(2^r - 1 - LN2[0] r) / r^2 for |r| <= 1/2",
        "2^r",
        lambda r: (mpmath.power(2, r) - 1 - r * nearest(LN2)) / r**2,
        *(mpf(-0.5), mpf(0.5), 11, lambda r: r * r * mpmath.power(2, -r)),
    ),
    "TANH": Polynomial(
        "(tanh(u) / u - 1) / u^2 in u^2, |u| <= ln(2) / 4",
        "tanh(u)",
        *(odd_rest(mpmath.tanh), mpf(0), (LN2 / 4) ** 2, 6, odd_weight(mpmath.tanh)),
    ),
    "COSH": Polynomial(
        "(cosh(r) - 1) / r^2 in r^2, |r| <= ln(2) / 2",
        "cosh(r)",
        lambda z: (mpmath.cosh(mpmath.sqrt(z)) - 1) / z,
        *(mpf(0), _HALF_LN2**2, 6, lambda z: z / mpmath.cosh(mpmath.sqrt(z))),
        fixed=(0.5,),
    ),
    "SINH": Polynomial(
        "(sinh(r) / r - 1) / r^2 in r^2, |r| <= ln(2) / 2",
        "sinh(r)",
        *(odd_rest(mpmath.sinh), mpf(0), _HALF_LN2**2, 5, odd_weight(mpmath.sinh)),
    ),
    "LOG": Polynomial(
        "(atanh(s) / s - 1) 2 / s^2 in s^2, |s| <= tan(pi / 8)^2",
        "atanh(s)",
        lambda z: 2 * odd_rest(mpmath.atanh)(z),
        *(mpf(0), mpmath.tan(PI / 8) ** 4, 7, lambda z: odd_weight(mpmath.atanh)(z) / 2),
    ),
    "LOG2_PRODUCT": Polynomial(
        "(log2((1 + s) / (1 - s)) / s - 2 / ln 2 - 2 / (3 ln 2) s^2) / s^4 in s^2, |s| <= tan(pi / 8)^2",
        "the first",
        lambda z: 2 / LN2 * (odd_rest(mpmath.atanh)(z) - mpf(1) / 3) / z,
        *(mpf(0), mpmath.tan(PI / 8) ** 4, 7, lambda z: odd_weight(mpmath.atanh)(z) * z * LN2 / 2),
    ),
    "ERFC": Polynomial(
        "(x + 4) e^(x^2) erfc(x) in (x - 4) / (x + 4), 0 <= x <= 27.3",
        "itself",
        *(_erfc_product, mpf(-1), mpf("23.3") / mpf("31.3"), 24, lambda q: 1 / _erfc_product(q)),
        two_parts=True,
    ),
    "GELU": Polynomial(
        "(x + 5) e^(x^2 / 2) erfc(x / sqrt 2) / 2 in (x - 5) / (x + 5), 0 <= x <= 38.7",
        "itself",
        *(_gelu_product, mpf(-1), mpf("33.7") / mpf("43.7"), 24, lambda q: 1 / _gelu_product(q)),
        two_parts=True,
    ),
    "ERF": Polynomial(
        "erf(x) / x - 1 in x^2, 0 <= x <= 1",
        "erf(x)",
        lambda z: mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1,
        *(mpf(0), mpf(1), 12, lambda z: mpmath.sqrt(z) / mpmath.erf(mpmath.sqrt(z))),
    ),
    "ERF_BEYOND_ONE": Polynomial(
        "The fourth root of erfc(1 + y) less c, 0 <= y <= 5",
        "erf(1 + y)",
        lambda y: _fourth_root(y) - _ERF_ROOT,
        *(mpf(0), mpf(5), 21, lambda y: 4 * _fourth_root(y) ** 3 / mpmath.erf(1 + y)),
    ),
    "RECIPROCAL_GAMMA": Polynomial(
        "Q in a - 3/2 for 1 / gamma(a) = 1 + (a - 1) (a - 2) (a Q - 1/2), 0 <= a <= 3",
        "ln(gamma(a))",
        lambda t: _reciprocal(t + mpf(1.5)),
        *(mpf(-1.5), mpf(1.5), 21),
        lambda t: mpmath.gamma(t + 1.5) * (t + 0.5) * (t - 0.5) * (t + 1.5) / mpmath.loggamma(t + 1.5),
    ),
    "STIRLING": Polynomial(
        "a (ln(gamma(a)) - (a - 1/2) (ln(a) - 1) - STIRLING_CONSTANT) in 1 / a^2, 3 <= a",
        "ln(gamma(a))",
        *(_stirling_rest, mpf(0), mpf(1) / 9, 10, lambda z: mpmath.sqrt(z) / mpmath.loggamma(1 / mpmath.sqrt(z))),
    ),
    "SINE_OF_PI": Polynomial(
        "(sin(pi r) / (pi r) - 1) / r^2 in r^2, |r| <= 1/2",
        "sin(pi r)",
        odd_rest(lambda r: mpmath.sin(PI * r) / PI),
        *(mpf(0), mpf(0.25), 8, odd_weight(lambda r: mpmath.sin(PI * r) / PI)),
    ),
    "DIGAMMA_PRODUCT": Polynomial(
        "b (b + 1) (b + 2) (b + 3) psi(b) / (b - DIGAMMA_ROOT), 0 <= b <= 3",
        "itself",
        lambda b: _four_factors(b) * mpmath.psi(0, b) / (b - DIGAMMA_ROOT),
        *(mpf(0), mpf(3), 19, lambda b: (b - DIGAMMA_ROOT) / (_four_factors(b) * mpmath.psi(0, b))),
    ),
    "DIGAMMA_SERIES": Polynomial(
        "(ln(b) - 1 / (2 b) - psi(b)) b^2 in 1 / b^2, 3 <= b",
        "psi(b)",
        *(_digamma_rest, mpf(0), mpf(1) / 9, 11, lambda z: z / mpmath.psi(0, 1 / mpmath.sqrt(z))),
    ),
    "COTANGENT_OF_PI": Polynomial(
        "(1 / r - pi cot(pi r)) / r in r^2, |r| <= 1/2",
        "1 / r",
        *(_cotangent_rest, mpf(0), mpf(0.25), 14, lambda z: z),
    ),
    "TRIGAMMA_PRODUCT": Polynomial(
        "(b (b + 1) (b + 2) (b + 3))^2 psi'(b), 0 <= b <= 3",
        "itself",
        lambda b: _four_factors(b) ** 2 * mpmath.psi(1, b),
        *(mpf(0), mpf(3), 19, lambda b: 1 / (_four_factors(b) ** 2 * mpmath.psi(1, b))),
    ),
    "TRIGAMMA_SERIES": Polynomial(
        "(psi'(b) - 1 / b - 1 / (2 b^2)) b^3 in 1 / b^2, 3 <= b",
        "psi'(b)",
        *(_trigamma_rest, mpf(0), mpf(1) / 9, 12),
        lambda z: z * mpmath.sqrt(z) / mpmath.psi(1, 1 / mpmath.sqrt(z)),
    ),
    "COSECANT_OF_PI": Polynomial(
        "(pi / sin(pi r))^2 - 1 / r^2 in r^2, |r| <= 1/2",
        "the first",
        lambda z: (PI / mpmath.sin(PI * mpmath.sqrt(z))) ** 2 - 1 / z,
        *(mpf(0), mpf(0.25), 15, lambda z: (mpmath.sin(PI * mpmath.sqrt(z)) / PI) ** 2),
    ),
    "SINE": Polynomial(
        "(1 - 5/32 r^2 - sin(r) / r) / r^2 in r^2, |r| <= pi / 2",
        "sin(r)",
        lambda z: -odd_rest(mpmath.sin)(z) - mpf(5) / 32,
        *(mpf(0), (PI / 2) ** 2, 8, odd_weight(mpmath.sin)),
    ),
    "COTANGENT": Polynomial(
        "(r cot(r) - 1) / r^2 in r^2, |r| <= pi / 4",
        "cot(r)",
        lambda z: (mpmath.sqrt(z) * mpmath.cot(mpmath.sqrt(z)) - 1) / z,
        *(mpf(0), (PI / 4) ** 2, 9, lambda z: mpmath.sqrt(z) * mpmath.tan(mpmath.sqrt(z))),
    ),
    "SINE_FOR_FLOAT32": Polynomial(
        "sin(r) / r in r^2, |r| <= pi / 4",
        "itself",
        lambda z: mpmath.sinc(mpmath.sqrt(z)),
        *(mpf(0), (PI / 4) ** 2, 4, lambda z: 1 / mpmath.sinc(mpmath.sqrt(z))),
        fixed=(1.0,),
    ),
    "COSINE_FOR_FLOAT32": Polynomial(
        "cos(r) in r^2, |r| <= pi / 4",
        "itself",
        lambda z: mpmath.cos(mpmath.sqrt(z)),
        *(mpf(0), (PI / 4) ** 2, 5, lambda z: 1 / mpmath.cos(mpmath.sqrt(z))),
        fixed=(1.0, -0.5),
    ),
    "ARC_TANGENT": Polynomial(
        "(atan(x) / x - 1) / x^2 in x^2, 0 <= x <= tan(pi / 8)",
        "atan(x)",
        *(odd_rest(mpmath.atan), mpf(0), mpmath.tan(PI / 8) ** 2, 11, odd_weight(mpmath.atan)),
    ),
    "ARC_SINE": Polynomial(
        "(asin(x) / x - 1) / x^2 in x^2, 0 <= x <= 1/2",
        "asin(x)",
        *(odd_rest(mpmath.asin), mpf(0), mpf(0.25), 13, odd_weight(mpmath.asin)),
    ),
}

_SIXTEENTH_LN2 = LN2 / 32

TABLED: Final[dict[str, Polynomial | Parts]] = {
    "EXP": Polynomial(
        "(e^r - 1 - r) / r^2 for |r| <= ln(2) / 32",
        "e^r",
        *(exp_rest, -_SIXTEENTH_LN2, _SIXTEENTH_LN2, 5, lambda r: r * r * mpmath.exp(-r)),
    ),
    "EXPM1": Polynomial(
        "(e^r - 1 - r) / r^2 for |r| <= ln(2) / 32",
        "e^r - 1",
        *(exp_rest, -_SIXTEENTH_LN2, _SIXTEENTH_LN2, 6, lambda r: r * r / mpmath.expm1(r)),
    ),
    "LOG": Polynomial(
        "(ln(1 + r) - r) / r^2 for -1/32 <= r <= 1/16",
        "r",
        *(log_rest, mpf(-1) / 32, mpf(1) / 16, 9, lambda r: r),
    ),
    **powers("POWERS_OF_TWO", "2^(i / 16)", 1),
    **powers("INVERSE_POWERS", "2^(-i / 16)", -1),
}
