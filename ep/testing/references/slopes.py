"""The factors by which gradients multiply dy, in mpmath: number by number, of any size."""

from collections.abc import Callable

import ml_dtypes
import mpmath
import numpy as np
from mpmath import mpf

from ep.include.primitive.binary_op import BinaryOp

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
