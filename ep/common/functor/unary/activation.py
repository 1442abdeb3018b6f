"""Smooth activation functions; those made of straight pieces are in `piecewise`."""

import math

from ep.common.functor import stable
from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor
from ep.include.primitive.unary_op import UnaryOp

SELU_SCALE = 1.0507009873554804934
SELU_ALPHA = 1.6732632423543772848
FAST_GELU_A = 0.7978845608028654
FAST_GELU_B = 0.044714998453855515
QUICK_GELU_SLOPE = 1.702


@functor(UnaryOp.kElu)
def elu(m: MathLibrary) -> Function:
    """alpha (e^x - 1) up to 0, x above."""
    zero, expm1 = m.T(0), m.expm1

    def f(x: Scalar, alpha: Scalar) -> Scalar:
        return x if x > zero else alpha * expm1(x)

    return f


@functor(UnaryOp.kCelu)
def celu(m: MathLibrary) -> Function:
    """alpha (e^(x / alpha) - 1) up to 0, x above."""
    zero, expm1 = m.T(0), m.expm1

    def f(x: Scalar, alpha: Scalar) -> Scalar:
        return x if x > zero else alpha * expm1(x / alpha)

    return f


@functor(UnaryOp.kSelu)
def selu(m: MathLibrary) -> Function:
    """scale alpha (e^x - 1) up to 0, scale x above."""
    zero, expm1 = m.T(0), m.expm1
    scale, scale_alpha = m.T(SELU_SCALE), m.T(SELU_SCALE * SELU_ALPHA)

    def f(x: Scalar) -> Scalar:
        return scale * x if x > zero else scale_alpha * expm1(x)

    return f


@functor(UnaryOp.kSigmoid)
def sigmoid(m: MathLibrary) -> Function:
    """1 / (1 + e^-x)."""
    sigma = m.use(stable.sigmoid)

    def f(x: Scalar) -> Scalar:
        return sigma(x)

    return f


@functor(UnaryOp.kLogSigmoid)
def log_sigmoid(m: MathLibrary) -> Function:
    """-ln(1 + e^-x)."""
    softplus = m.use(stable.softplus)

    def f(x: Scalar) -> Scalar:
        return -softplus(-x)

    return f


@functor(UnaryOp.kSoftPlus)
def soft_plus(m: MathLibrary) -> Function:
    """x where beta x > threshold, else ln(1 + e^(beta x)) / beta."""
    softplus = m.use(stable.softplus)

    def f(x: Scalar, beta: Scalar, threshold: Scalar) -> Scalar:
        z = beta * x
        return x if z > threshold else softplus(z) / beta

    return f


@functor(UnaryOp.kSoftSign)
def soft_sign(m: MathLibrary) -> Function:
    """x / (1 + |x|); +-1 at +-inf."""
    one, infinity, copysign = m.T(1), m.T(math.inf), m.copysign

    def f(x: Scalar) -> Scalar:
        return copysign(one, x) if abs(x) == infinity else x / (one + abs(x))

    return f


@functor(UnaryOp.kSilu)
def silu(m: MathLibrary) -> Function:
    """x sigmoid(x)."""
    gated = m.use(stable.gated)

    def f(x: Scalar) -> Scalar:
        return gated(x, x)

    return f


@functor(UnaryOp.kQuickGelu)
def quick_gelu(m: MathLibrary) -> Function:
    """x sigmoid(1.702 x)."""
    slope, gated = m.T(QUICK_GELU_SLOPE), m.use(stable.gated)

    def f(x: Scalar) -> Scalar:
        return gated(x, slope * x)

    return f


@functor(UnaryOp.kFastGelu)
def fast_gelu(m: MathLibrary) -> Function:
    """x / 2 (1 + tanh(A (x + B x^3))), as x sigmoid(2 A (x + B x^3))."""
    one, two_a, b, gated = m.T(1), m.T(2 * FAST_GELU_A), m.T(FAST_GELU_B), m.use(stable.gated)

    def f(x: Scalar) -> Scalar:
        return gated(x, two_a * (x * (one + b * (x * x))))

    return f


@functor(UnaryOp.kGelu)
def gelu(m: MathLibrary) -> Function:
    """x / 2 (1 + erf(x / sqrt 2)), as x / 2 erfc(-x / sqrt 2), which does not cancel on the left."""
    half, minus_sqrt_half, erfc, lift = m.T(0.5), m.T(-math.sqrt(0.5)), m.erfc, m.use(stable.lifted)

    def f(x: Scalar) -> Scalar:
        return half * lift(x) * erfc(minus_sqrt_half * x)

    return f


@functor(UnaryOp.kMish)
def mish(m: MathLibrary) -> Function:
    """x tanh(ln(1 + e^x)), where tanh(ln(1 + u)) = u (u + 2) / (u (u + 2) + 2) for u = e^x.

    With e = e^-|x| the fraction is e (e + 2) / (e (e + 2) + 2) on the left, (1 + 2 e) / (1 + 2 e + 2 e^2) on the
    right. e is taken as h^2, see `stable.gated`.
    """
    zero, half, one, two = m.T(0), m.T(0.5), m.T(1), m.T(2)
    exp, lift = m.exp, m.use(stable.lifted)

    def f(x: Scalar) -> Scalar:
        y = lift(x)
        h = exp(-half * abs(x))
        e = h * h
        right = one + two * e
        left = e * (e + two)
        numerator = y * right if x >= zero else (y * h) * (h * (e + two))
        return numerator / (right + two * e * e if x >= zero else left + two)

    return f
