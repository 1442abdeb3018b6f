"""The unary ops, directly from their formulas, in extended precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import scipy.special

from ep.include.primitive.unary_op import UnaryOp
from ep.testing.arrays import Array
from ep.testing.references.convert import convert

L = np.longdouble
_PI = L("3.14159265358979323846264338327950288")
SELU_SCALE, SELU_ALPHA = L("1.0507009873554804934"), L("1.6732632423543772848")
FAST_GELU_A, FAST_GELU_B = L("0.7978845608028654"), L("0.044714998453855515")


def unary(op: UnaryOp, x: np.ndarray, dst_dtype: Any, attr0: Any = None, attr1: Any = None) -> np.ndarray:
    """Return op(x) in `dst_dtype`, rounded once from `exact`."""
    return convert(exact(op, x, attr0, attr1), dst_dtype)


def exact(op: UnaryOp, x: np.ndarray, attr0: Any = None, attr1: Any = None) -> np.ndarray:
    """Return op(x) in the widest type of its kind: long double, complex long double, or the integer type itself."""
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        if op in _TESTS:
            return _TESTS[op](x)
        if x.dtype.kind in "biu":
            return _INTEGER[op](x)
        if x.dtype.kind == "c":
            return _COMPLEX[op](x.astype(np.clongdouble))
        if op in _GAMMA_OR_ERROR:
            wide, narrow, at_minus_inf, at_plus_inf = _GAMMA_OR_ERROR[op]
            if x.dtype == np.float64:
                result = np.array([_from_mpmath(wide, float(v)) for v in x.ravel()], L).reshape(x.shape)
            else:
                result = narrow(x.astype(np.float64)).astype(L)
            result = np.where(x == -np.inf, L(at_minus_inf), np.where(x == np.inf, L(at_plus_inf), result))
            return np.where(np.isnan(x.astype(np.float64)), L(np.nan), result)
        attribute_type = np.float64 if x.dtype == np.float64 else np.float32
        attributes = [L(attribute_type(attribute)) for attribute in (attr0, attr1) if attribute is not None]
        wide_x = x.astype(L)
        result = _FLOAT[op](wide_x, *attributes)
        if op in _LIMITS:
            low, high = _LIMITS[op]
            result = np.where(wide_x == -np.inf, L(low), np.where(wide_x == np.inf, L(high), result))
        return result


def choose(*branches: Any) -> np.ndarray:
    """Return the selected values. branches: condition, value, condition, value, ..., value."""
    *pairs, last = branches
    return np.select(pairs[0::2], pairs[1::2], last)


def _soft_plus(x: Array, beta: Any, threshold: Any) -> Any:
    return choose(beta * x > threshold, x, np.logaddexp(L(0), beta * x) / beta)


_FLOAT: dict[UnaryOp, Callable[..., np.ndarray]] = {
    UnaryOp.kElu: lambda x, alpha: choose(x > 0, x, alpha * np.expm1(x)),
    UnaryOp.kCelu: lambda x, alpha: choose(x > 0, x, alpha * np.expm1(x / alpha)),
    UnaryOp.kRelu: lambda x: choose(x <= 0, L(0), x),
    UnaryOp.kHardSwish: lambda x: choose(x <= -3, L(0), x >= 3, x, x * (x + 3) / 6),
    UnaryOp.kHardSigmoid: lambda x: choose(x <= -3, L(0), x >= 3, L(1), (x + 3) / 6),
    UnaryOp.kHardShrink: lambda x, bound: choose((-bound <= x) & (x <= bound), L(0), x),
    UnaryOp.kHardTanh: lambda x, low, high: choose(x <= low, low, x >= high, high, x),
    UnaryOp.kLeakyRelu: lambda x, alpha: choose(x > 0, x, alpha * x),
    UnaryOp.kMish: lambda x: x * np.tanh(np.logaddexp(L(0), x)),
    UnaryOp.kSelu: lambda x: SELU_SCALE * choose(x > 0, x, SELU_ALPHA * np.expm1(x)),
    UnaryOp.kSilu: lambda x: x / (1 + np.exp(-x)),
    UnaryOp.kSoftShrink: lambda x, alpha: choose((-alpha <= x) & (x <= alpha), L(0), x > alpha, x - alpha, x + alpha),
    UnaryOp.kSoftSign: lambda x: x / (1 + np.abs(x)),
    UnaryOp.kSoftPlus: _soft_plus,
    UnaryOp.kTanh: np.tanh,
    UnaryOp.kThreshold: lambda x, limit, value: choose(x <= limit, value, x),
    UnaryOp.kFastGelu: lambda x: x / (1 + np.exp(-2 * FAST_GELU_A * (x + FAST_GELU_B * x * x * x))),
    UnaryOp.kQuickGelu: lambda x: x / (1 + np.exp(-L("1.702") * x)),
    UnaryOp.kSquareReLU: lambda x: choose(x <= 0, L(0), x * x),
    UnaryOp.kAbs: np.abs,
    UnaryOp.kAcos: np.arccos,
    UnaryOp.kAcosh: np.arccosh,
    UnaryOp.kAsin: np.arcsin,
    UnaryOp.kAsinh: np.arcsinh,
    UnaryOp.kAtan: np.arctan,
    UnaryOp.kAtanh: np.arctanh,
    UnaryOp.kCeil: np.ceil,
    UnaryOp.kCos: np.cos,
    UnaryOp.kCosh: np.cosh,
    UnaryOp.kExp: np.exp,
    UnaryOp.kExp2: np.exp2,
    UnaryOp.kExpm1: np.expm1,
    UnaryOp.kFloor: np.floor,
    UnaryOp.kLog: np.log,
    UnaryOp.kLog2: np.log2,
    UnaryOp.kLog10: np.log10,
    UnaryOp.kLog1p: np.log1p,
    UnaryOp.kLogSigmoid: lambda x: -np.logaddexp(L(0), -x),
    UnaryOp.kNegative: np.negative,
    UnaryOp.kReciprocal: lambda x: 1 / x,
    UnaryOp.kReciprocalNoNan: lambda x: choose(x == 0, L(0), 1 / x),
    UnaryOp.kRint: np.rint,
    UnaryOp.kRound: np.rint,
    UnaryOp.kRsqrt: lambda x: 1 / np.sqrt(x),
    UnaryOp.kSigmoid: lambda x: 1 / (1 + np.exp(-x)),
    UnaryOp.kSign: lambda x: choose(x > 0, L(1), x < 0, L(-1), L(0)),
    UnaryOp.kSin: np.sin,
    UnaryOp.kSinh: np.sinh,
    UnaryOp.kSqrt: np.sqrt,
    UnaryOp.kSquare: lambda x: x * x,
    UnaryOp.kTan: np.tan,
    UnaryOp.kTrunc: np.trunc,
    UnaryOp.kNotEqualZero: lambda x: choose(x != 0, L(1), L(0)),
    UnaryOp.kNanAssign: lambda x: choose(np.isnan(x), L(0), x),
    UnaryOp.kRealGrad: lambda x: _complex(x, np.zeros_like(x)),
    UnaryOp.kImagGrad: lambda x: _complex(np.zeros_like(x), x),
    UnaryOp.kIdentity: np.positive,
    UnaryOp.kCast: np.positive,
}

_LIMITS = {
    UnaryOp.kMish: (0, np.inf),
    UnaryOp.kSilu: (0, np.inf),
    UnaryOp.kFastGelu: (0, np.inf),
    UnaryOp.kQuickGelu: (0, np.inf),
    UnaryOp.kSoftSign: (-1, 1),
}
"""The values at -inf and +inf of ops whose formulas give NaN there."""

_TESTS: dict[UnaryOp, Callable[[np.ndarray], np.ndarray]] = {
    UnaryOp.kLogicalNot: lambda x: x == 0,
    UnaryOp.kIsInf: lambda x: np.isinf(x),
    UnaryOp.kIsNan: lambda x: np.isnan(x),
    UnaryOp.kIsFinite: lambda x: np.isfinite(x),
}

_INTEGER: dict[UnaryOp, Callable[[np.ndarray], np.ndarray]] = {
    UnaryOp.kIdentity: np.copy,
    UnaryOp.kCast: np.copy,
    UnaryOp.kRelu: lambda x: np.where(x > 0, x, x.dtype.type(0)),
    UnaryOp.kAbs: np.abs,
    UnaryOp.kBitwiseNot: np.invert,
}


def _complex(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    result = np.empty(real.shape, np.clongdouble)
    result.real, result.imag = real, imag
    return result


_COMPLEX: dict[UnaryOp, Callable[[np.ndarray], np.ndarray]] = {
    UnaryOp.kIdentity: np.positive,
    UnaryOp.kCast: np.positive,
    UnaryOp.kConj: np.conj,
    UnaryOp.kReal: np.real,
    UnaryOp.kImag: np.imag,
    UnaryOp.kNegative: np.negative,
    UnaryOp.kSqrt: np.sqrt,
}


def _from_mpmath(function: Callable[[mpmath.mpf, bool], mpmath.mpf], x: float) -> np.longdouble:
    if not np.isfinite(x):
        return L(np.nan)
    with mpmath.workdps(45):
        result = function(mpmath.mpf(x), bool(np.signbit(x)))
        # Through a decimal string: a sum of float64 parts would lose the digits of subnormal results.
        return L(mpmath.nstr(result, 25)) if mpmath.isfinite(result) else L(float(result))


def _erfc(x: mpmath.mpf) -> mpmath.mpf:
    # Beyond, it is 2 or far below the smallest number; mpmath fails on huge arguments.
    return mpmath.erfc(max(min(x, 100), -100))


def _is_pole(x: mpmath.mpf) -> bool:
    return bool(x <= 0 and x == mpmath.floor(x))


def _lgamma(x: mpmath.mpf, negative: bool) -> mpmath.mpf:
    return mpmath.inf if _is_pole(x) else mpmath.re(mpmath.loggamma(x))


def _digamma(x: mpmath.mpf, negative: bool) -> mpmath.mpf:
    if x == 0:
        return mpmath.inf if negative else -mpmath.inf
    if x > 1e40:
        return mpmath.log(x)
    return mpmath.nan if _is_pole(x) else mpmath.digamma(x)


def _trigamma(x: mpmath.mpf, negative: bool) -> mpmath.mpf:
    if _is_pole(x):
        return mpmath.inf
    if x < 0:
        return (mpmath.pi / mpmath.sinpi(x)) ** 2 - _trigamma(1 - x, False)
    if x > 1e6:  # mpmath would take too long
        return 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5) + 1 / (42 * x**7)
    return mpmath.psi(1, x)


def _narrow_digamma(x: np.ndarray) -> np.ndarray:
    pole = (x < 0) & (x == np.floor(x))
    at_zero = np.where(np.signbit(x), np.inf, -np.inf)
    return choose(x == 0, at_zero, pole, np.nan, scipy.special.digamma(x))


def _narrow_trigamma(x: np.ndarray) -> np.ndarray:
    sine = np.sin(np.pi * (x - np.rint(x)))
    above_0 = scipy.special.zeta(2, np.where(x > 0, x, 1 - x))  # below 0, zeta would add up term by term
    return choose(x > 0, above_0, x == np.floor(x), np.inf, (np.pi / sine) ** 2 - above_0)


def _narrow_lgamma(x: np.ndarray) -> np.ndarray:
    return choose((x <= 0) & (x == np.floor(x)), np.inf, scipy.special.gammaln(x))


def _narrow_gelu(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * x * scipy.special.erfc(-x / np.sqrt(2)))


# The function in mpmath, the one in float64 for narrower sources, and the values at -inf and +inf.
_GAMMA_OR_ERROR = {
    UnaryOp.kErf: (lambda x, _: 1 - _erfc(x) if abs(x) > 1 else mpmath.erf(x), scipy.special.erf, -1, 1),
    UnaryOp.kErfc: (lambda x, _: _erfc(x), scipy.special.erfc, 2, 0),
    UnaryOp.kGelu: (lambda x, _: x / 2 * _erfc(-x / mpmath.sqrt(2)), _narrow_gelu, 0, np.inf),
    UnaryOp.kLgamma: (_lgamma, _narrow_lgamma, np.inf, np.inf),
    UnaryOp.kDigamma: (_digamma, _narrow_digamma, np.nan, np.inf),
    UnaryOp.kTrigamma: (_trigamma, _narrow_trigamma, np.nan, 0),
}
