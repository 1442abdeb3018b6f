"""The gradients of unary ops: products of dy in long double, and its factors in mpmath, for numbers of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
from mpmath import mpf

from ep.include.primitive.binary_op import BinaryOp
from ep.testing.arrays import Array
from ep.testing.references import unary
from ep.testing.references.unary import choose

L = np.longdouble
_SQRT_PI, _LN_2, _LN_10 = np.sqrt(L("3.14159265358979323846264338327950288")), np.log(L(2)), np.log(L(10))

_DIGITS = 60
_FAR = mpf(10) ** 6
"""From here on, e^-|x| is below every number; evaluating it would take too long."""

with mpmath.workdps(_DIGITS):  # mpmath rounds digits to its current precision
    _FAST_GELU_A, _FAST_GELU_B, _QUICK_GELU = mpf("0.7978845608028654"), mpf("0.044714998453855515"), mpf("1.702")
    _SELU_SCALE, _SELU_ALPHA = mpf("1.0507009873554804934"), mpf("1.6732632423543772848")


def gradients(op: BinaryOp, dy: np.ndarray, x: np.ndarray, attributes: tuple[float, ...]) -> np.ndarray:
    """Return dy times the factor at x for each pair, in long double, in an array of the shape (dy.size, x.size).

    An infinite dy is only multiplied by factors that are normal numbers in its type, for which floating point gives the
    same; NaN elsewhere.
    """
    info = ml_dtypes.finfo(dy.dtype)
    low, high = float(info.tiny), float(info.max)
    slopes = [slope(op, float(value), *attributes) for value in x]
    return np.array(
        [
            [product(float(d), s) if np.isfinite(d) or low <= abs(s) <= high else np.longdouble(np.nan) for s in slopes]
            for d in dy
        ]
    )


def slope(op: BinaryOp, x: float, *attributes: float) -> mpf:
    """Return the factor for a finite x; NaN if there is none."""
    with mpmath.workdps(_DIGITS):
        value, rest = mpf(x), tuple(map(mpf, attributes))
        try:
            result = _SLOPES[op](value, *rest)
        except ZeroDivisionError:  # at a pole: the sign of the zero decides
            return mpf("-inf") if np.signbit(x) and op in _ODD_POLES else mpf("inf") * _AT_POLE.get(op, 1)
        except ValueError:
            return mpf("nan")
        return mpf("nan") if isinstance(result, mpmath.mpc) else result


def product(dy: float, factor: mpf) -> np.longdouble:
    """Return dy times factor: exact, except for the rounding to long double."""
    if mpmath.isnan(factor) or np.isnan(dy) or (np.isinf(dy) and factor == 0) or (dy == 0 and mpmath.isinf(factor)):
        return np.longdouble(np.nan)
    with mpmath.workdps(_DIGITS):
        result = mpf(dy) * factor
        if mpmath.isinf(result):
            return np.longdouble(float(result))
        magnitude = mpmath.log10(abs(result)) if result else mpf(0)
        if abs(magnitude) > 4900:
            return np.longdouble(0) if magnitude < 0 else np.longdouble(np.inf) * np.sign(float(mpmath.sign(result)))
        return np.longdouble(mpmath.nstr(result, 25))


def _exp(x: mpf) -> mpf:
    return mpmath.exp(max(min(x, _FAR), -_FAR))


def _sigmoid(x: mpf) -> mpf:
    return 1 / (1 + _exp(-x))


def _gate(v: mpf, w: mpf) -> mpf:
    """Return the derivative of x sigmoid(v(x)), w = x v'(x)."""
    s, rest = _sigmoid(v), _sigmoid(-v)
    return s * (1 + w * rest)


def _mish(x: mpf) -> mpf:
    with mpmath.workdps(3 * _DIGITS):
        u = _exp(x)
        d = u * (u + 2) + 2
        return (u * (u + 2) + 4 * u * (1 + u) * x / d) / d


def _gelu(x: mpf) -> mpf:
    y = max(min(x, mpf(10) ** 3), -(mpf(10) ** 3))
    return mpmath.erfc(-y / mpmath.sqrt(2)) / 2 + y * mpmath.npdf(y)


def _fast_gelu(x: mpf) -> mpf:
    square = x * x
    return _gate(
        2 * _FAST_GELU_A * x * (1 + _FAST_GELU_B * square), 2 * _FAST_GELU_A * x * (1 + 3 * _FAST_GELU_B * square)
    )


def _softplus(x: mpf, beta: mpf, threshold: mpf) -> mpf:
    return mpf(1) if beta * x > threshold else _sigmoid(beta * x)


def _base_power(x: mpf, c: mpf) -> mpf:
    """Return the factor c x^(c - 1); x must not be -0: mpmath has no sign for zeros."""
    return c * x ** (c - 1)


def _inverse_root(y: mpf) -> mpf:
    return 1 / mpmath.sqrt(y)


B = BinaryOp
_SLOPES: dict[BinaryOp, Callable[..., mpf]] = {
    B.kIdentityBackwardWithDyX: lambda x: mpf(1),
    B.kEluBackwardWithDyX: lambda x, alpha: mpf(1) if x > 0 else alpha * _exp(x),
    B.kCeluBackwardWithDyY: lambda y, alpha: mpf(1) if y > 0 else y / alpha + 1,
    B.kGeluBackwardWithDyX: _gelu,
    B.kHardswishBackwardWithDyX: lambda x: mpf(0) if x <= -3 else (mpf(1) if x >= 3 else (2 * x + 3) / 6),
    B.kHardsigmoidBackwardWithDyX: lambda x: mpf(0) if abs(x) >= 3 else mpf(1) / 6,
    B.kHardshrinkBackwardWithDyY: lambda y, bound: mpf(y != 0),
    B.kHardtanhBackwardWithDyY: lambda y, low, high: mpf(y not in (low, high)),
    B.kLeakyReluBackwardWithDyX: lambda x, alpha: mpf(1) if x > 0 else alpha,
    B.kMishBackwardWithDyX: _mish,
    B.kReluBackwardWithDyY: lambda y: mpf(y > 0),
    B.kReluBackwardWithDyX: lambda x: mpf(x > 0),
    B.kSeluBackwardWithDyX: lambda x: _SELU_SCALE * (mpf(1) if x > 0 else _SELU_ALPHA * _exp(x)),
    B.kSiluBackwardWithDyX: lambda x: _gate(x, x),
    B.kSoftsignBackwardWithDyX: lambda x: 1 / (1 + abs(x)) ** 2,
    B.kSoftplusBackwardWithDyX: _softplus,
    B.kSoftshrinkBackwardWithDyY: lambda y, bound: mpf(y != 0),
    B.kTanhBackwardWithDyY: lambda y: (1 - y) * (1 + y),
    B.kThresholdBackwardWithDyX: lambda x, threshold: mpf(x > threshold),
    B.kSigmoidBackwardWithDyY: lambda y: y * (1 - y),
    B.kSigmoidBackwardWithDyX: lambda x: _sigmoid(x) * _sigmoid(-x),
    B.kAbsBackwardWithDyX: mpmath.sign,
    B.kAcosBackwardWithDyX: lambda x: -_inverse_root((1 - x) * (1 + x)),
    B.kAcoshBackwardWithDyX: lambda x: _inverse_root((abs(x) - 1) * (abs(x) + 1)),
    B.kAsinBackwardWithDyX: lambda x: _inverse_root((1 - x) * (1 + x)),
    B.kAsinhBackwardWithDyX: lambda x: 1 / mpmath.hypot(1, x),
    B.kAtanBackwardWithDyX: lambda x: 1 / (1 + x * x),
    B.kAtanhBackwardWithDyX: lambda x: 1 / ((1 - x) * (1 + x)),
    B.kCosBackwardWithDyX: lambda x: -mpmath.sin(x),
    B.kCoshBackwardWithDyX: lambda x: mpmath.sinh(max(min(x, _FAR), -_FAR)),
    B.kErfBackwardWithDyX: lambda x: 2 / mpmath.sqrt(mpmath.pi) * _exp(-x * x),
    B.kErfcBackwardWithDyX: lambda x: -2 / mpmath.sqrt(mpmath.pi) * _exp(-x * x),
    B.kExpBackwardWithDyX: _exp,
    B.kExp2BackwardWithDyX: lambda x: mpmath.ln(2) * _exp(x * mpmath.ln(2)),
    B.kExpm1BackwardWithDyX: _exp,
    B.kLgammaBackwardWithDyX: mpmath.digamma,
    B.kDigammaBackwardWithDyX: lambda x: mpmath.psi(1, x),
    B.kLogBackwardWithDyX: lambda x: 1 / x,
    B.kLog2BackwardWithDyX: lambda x: 1 / (x * mpmath.ln(2)),
    B.kLog10BackwardWithDyX: lambda x: 1 / (x * mpmath.ln(10)),
    B.kLog1pBackwardWithDyX: lambda x: 1 / (1 + x),
    B.kLogSigmoidBackwardWithDyX: lambda x: _sigmoid(-x),
    B.kReciprocalBackwardWithDyX: lambda x: -1 / (x * x),
    B.kReciprocalNoNanBackwardWithDyX: lambda x: -1 / (x * x) if x else mpf(0),
    B.kRsqrtBackwardWithDyX: lambda x: -1 / (2 * mpmath.sqrt(x) * x),
    B.kSinBackwardWithDyX: mpmath.cos,
    B.kSinhBackwardWithDyX: lambda x: mpmath.cosh(max(min(x, _FAR), -_FAR)),
    B.kSqrtBackwardWithDyX: lambda x: 1 / (2 * mpmath.sqrt(x)),
    B.kSquareBackwardWithDyX: lambda x: 2 * x,
    B.kTanBackwardWithDyX: lambda x: 1 / mpmath.cos(x) ** 2,
    B.kFastGeluBackwardWithDyX: _fast_gelu,
    B.kQuickGeluBackwardWithDyX: lambda x: _gate(_QUICK_GELU * x, _QUICK_GELU * x),
    B.kSquareReLUBackwardWithDyX: lambda x: 2 * max(x, mpf(0)),
    B.kScalarBasePowerGrad: _base_power,
    B.kScalarExpPowerGrad: lambda x, c: _exp(x * mpmath.ln(c)) * mpmath.ln(c),
}

_ODD_POLES = (
    *(B.kLogBackwardWithDyX, B.kLog2BackwardWithDyX, B.kLog10BackwardWithDyX, B.kSqrtBackwardWithDyX),
    *(B.kRsqrtBackwardWithDyX,),
)
_AT_POLE = {B.kAcosBackwardWithDyX: -1, B.kReciprocalBackwardWithDyX: -1, B.kRsqrtBackwardWithDyX: -1}


def times_dy(op: BinaryOp, dy: np.ndarray, x: np.ndarray, *attributes: Any) -> np.ndarray:
    """Return dy times the factor at x, in long double."""
    product = _BACKWARD.get(op)
    result = dy * _SLOPES[op](x, *attributes) if product is None else product(dy, x, *attributes)
    return choose(x == -np.inf, dy * 0, x == np.inf, dy, result) if op in _TENDS_TO_IDENTITY else result


def _wide_sigmoid(x: Array) -> Any:
    return 1 / (1 + np.exp(-x))


def _wide_mish_parts(x: Array) -> Any:
    s = np.log1p(np.exp(x))
    # -expm1(-s) is 1 - e^-s and (1 - t)(1 + t) is 1 - t^2, which would cancel even here.
    t = np.tanh(s)
    return x * (1 - t) * (1 + t) * -np.expm1(-s), t


def _wide_mish(dy: Array, x: Array) -> Any:
    slope, t = _wide_mish_parts(x)
    return dy * (slope + t)


def _wide_silu(dy: Array, x: Array, slope: Any = 1) -> Any:
    g, rest = _wide_sigmoid(slope * x), _wide_sigmoid(-slope * x)
    return dy * g * (1 + slope * x * rest)


def _wide_fast_gelu(dy: Array, x: Array) -> Any:
    """Use the sigmoid of twice the argument of tanh: 1 - tanh would lose all digits for x < -7."""
    z = 2 * unary.FAST_GELU_A * x * (1 + unary.FAST_GELU_B * x * x)
    slope = 2 * unary.FAST_GELU_A * x * (1 + 3 * unary.FAST_GELU_B * x * x)
    return dy * _wide_sigmoid(z) * (1 + slope * _wide_sigmoid(-z))


def _wide_silu_terms(x: Array, slope: Any = 1) -> Any:
    g = _wide_sigmoid(slope * x)
    return np.fmax(g, np.abs(slope * x) * g * _wide_sigmoid(-slope * x))


_TENDS_TO_IDENTITY = (
    B.kMishBackwardWithDyX,
    B.kSiluBackwardWithDyX,
    B.kFastGeluBackwardWithDyX,
    B.kQuickGeluBackwardWithDyX,
)
"""Ops whose limits are dy 0 at -inf and dy at +inf, where the formulas give NaN."""

_BACKWARD: dict[BinaryOp, Callable[..., np.ndarray]] = {
    B.kIdentityBackwardWithDyX: lambda dy, x: dy,
    B.kEluBackwardWithDyX: lambda dy, x, alpha: choose(x > 0, dy, dy * alpha * np.exp(x)),
    B.kCeluBackwardWithDyY: lambda dy, y, alpha: choose(y > 0, dy, dy * (y / alpha + 1)),
    B.kHardswishBackwardWithDyX: lambda dy, x: choose(x <= -3, L(0), x >= 3, dy, (2 * x + 3) * dy / 6),
    B.kHardsigmoidBackwardWithDyX: lambda dy, x: choose(np.abs(x) >= 3, L(0), dy / 6),
    B.kHardshrinkBackwardWithDyY: lambda dy, y, bound: choose(y == 0, L(0), dy),
    B.kHardtanhBackwardWithDyY: lambda dy, y, low, high: choose((y == low) | (y == high), L(0), dy),
    B.kLeakyReluBackwardWithDyX: lambda dy, x, alpha: choose(x > 0, dy, dy * alpha),
    B.kMishBackwardWithDyX: _wide_mish,
    B.kReluBackwardWithDyY: lambda dy, y: choose(y <= 0, L(0), dy),
    B.kReluBackwardWithDyX: lambda dy, x: choose(x <= 0, L(0), dy),
    B.kSeluBackwardWithDyX: lambda dy, x: unary.SELU_SCALE * dy * choose(x > 0, L(1), unary.SELU_ALPHA * np.exp(x)),
    B.kSiluBackwardWithDyX: _wide_silu,
    B.kSoftplusBackwardWithDyX: lambda dy, x, beta, threshold: choose(
        beta * x > threshold, dy, dy * _wide_sigmoid(beta * x)
    ),
    B.kSoftshrinkBackwardWithDyY: lambda dy, y, bound: choose(y == 0, L(0), dy),
    B.kThresholdBackwardWithDyX: lambda dy, x, threshold: choose(x <= threshold, L(0), dy),
    B.kSigmoidBackwardWithDyX: lambda dy, x: dy * _wide_sigmoid(x) * _wide_sigmoid(-x),
    B.kAbsBackwardWithDyX: lambda dy, x: choose(x == 0, L(0), x < 0, -dy, dy),
    B.kAcosBackwardWithDyX: lambda dy, x: -dy / np.sqrt((1 - x) * (1 + x)),
    B.kAcoshBackwardWithDyX: lambda dy, x: dy / np.sqrt((np.abs(x) - 1) * (np.abs(x) + 1)),
    B.kAsinBackwardWithDyX: lambda dy, x: dy / np.sqrt((1 - x) * (1 + x)),
    B.kAsinhBackwardWithDyX: lambda dy, x: dy / np.sqrt(1 + x * x),
    B.kCosBackwardWithDyX: lambda dy, x: -dy * np.sin(x),
    B.kCoshBackwardWithDyX: lambda dy, x: dy * np.sinh(x),
    B.kErfBackwardWithDyX: lambda dy, x: dy * 2 / _SQRT_PI * np.exp(-x * x),
    B.kErfcBackwardWithDyX: lambda dy, x: -dy * 2 / _SQRT_PI * np.exp(-x * x),
    B.kExpBackwardWithDyX: lambda dy, x: dy * np.exp(x),
    B.kExp2BackwardWithDyX: lambda dy, x: dy * np.exp2(x) * _LN_2,
    B.kExpm1BackwardWithDyX: lambda dy, x: dy * np.exp(x),
    B.kLog2BackwardWithDyX: lambda dy, x: dy * (1 / (x * _LN_2)),
    B.kLog10BackwardWithDyX: lambda dy, x: dy * (1 / (x * _LN_10)),
    B.kLogSigmoidBackwardWithDyX: lambda dy, x: dy * (1 / (np.exp(x) + 1)),
    B.kReciprocalNoNanBackwardWithDyX: lambda dy, x: choose(x == 0, L(0), dy * (-1 / (x * x))),
    B.kRsqrtBackwardWithDyX: lambda dy, x: dy * (-1 / (2 * np.sqrt(x**3))),
    B.kSinBackwardWithDyX: lambda dy, x: dy * np.cos(x),
    B.kSinhBackwardWithDyX: lambda dy, x: dy * np.cosh(x),
    B.kSqrtBackwardWithDyX: lambda dy, x: dy / (2 * np.sqrt(x)),
    B.kTanBackwardWithDyX: lambda dy, x: dy / np.cos(x) ** 2,
    B.kFastGeluBackwardWithDyX: _wide_fast_gelu,
    B.kQuickGeluBackwardWithDyX: lambda dy, x: _wide_silu(dy, x, L("1.702")),
    B.kSquareReLUBackwardWithDyX: lambda dy, x: choose(x > 0, 2 * x * dy, L(0)),
}
"""The products of dy and factors that arithmetic alone does not compute."""

TERMS: dict[BinaryOp, Callable[..., Any]] = {
    B.kCeluBackwardWithDyY: lambda y, alpha: choose(y > 0, L(1), np.fmax(1, np.abs(y / alpha))),
    B.kHardswishBackwardWithDyX: lambda x: choose(np.abs(x) >= 3, L(0), np.fmax(np.abs(x / 3), L(0.5))),
    # psi(x) for x < 0 is a difference of psi(1 - x) and a cotangent.
    B.kLgammaBackwardWithDyX: lambda x: choose(x < 0, np.log1p(np.abs(x)), L(0)),
    B.kGeluBackwardWithDyX: lambda x: L(0.5),
    B.kFastGeluBackwardWithDyX: lambda x: L(0.5),
    B.kMishBackwardWithDyX: lambda x: np.fmax(*map(np.abs, _wide_mish_parts(x))),
    B.kSiluBackwardWithDyX: _wide_silu_terms,
    B.kQuickGeluBackwardWithDyX: lambda x: _wide_silu_terms(x, L("1.702")),
}
"""The factor of dy in the largest term, if the formula is a sum; for all other ops the result is the only term."""
