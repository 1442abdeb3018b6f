"""Smooth activation functions. The piecewise linear ones are in `piecewise`."""

import math

from ep.common.functor import stable
from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor
from ep.include.primitive.unary_op import UnaryOp

_SOFT_PLUS_END = (84, 704)
"""In float32 and in float64: e^-x is a normal number up to here. Beyond, softplus takes a constant factor out of it."""

SELU_SCALE = 1.0507009873554804934
SELU_ALPHA = 1.6732632423543772848
FAST_GELU_A = 0.7978845608028654
FAST_GELU_B = 0.044714998453855515
QUICK_GELU_SLOPE = 1.702
QUICK_GELU_VANISHED = (147, 941)
"""In float32 and in float64: from here on, slope x e^(-slope x) times the largest number is less than the smallest."""


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
    """x where beta x > threshold, else ln(1 + e^(beta x)) / beta.

    With z = beta x the second is max(z, 0) / beta, which is 0 or x, plus ln(1 + e^-|z|) / beta. The rounding error of z
    would be multiplied by z, so z is computed to double precision. Far from 0 the logarithm is e^-|z|, and a constant
    is taken out of it: the quotient can be a normal number even if e^-|z| is not.
    """
    zero, one = m.T(0), m.T(1)
    end, large = stable.by_precision(m, *_SOFT_PLUS_END), stable.by_precision(m, 2.0**100, 2.0**990)
    factor = stable.by_precision(m, *(math.exp(-end) for end in _SOFT_PLUS_END))
    exp, log1p, multiply, exceeds = m.exp, m.log1p, m.use(stable.exact_product), m.use(stable.product_exceeds)

    def f(x: Scalar, beta: Scalar, threshold: Scalar) -> Scalar:
        z = beta * x
        exact = (abs(x) < large) & (abs(beta) < large) & (abs(z) < large)
        p, r = multiply(abs(beta), abs(x)) if exact else (abs(z), zero)
        far = p > end
        e = exp(end - p if far else -p)
        e -= e * r
        rest = (e if far else log1p(e)) / beta * (factor if far else one)
        return x if exceeds(z, p, r, threshold) else (x if z > zero else zero) + rest

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


def quick_exponent(m: MathLibrary) -> Function:
    """Return the function that gives 1.702 x as a sum of two numbers. The constant is the exact decimal number."""
    from fractions import Fraction  # few kernels need it

    slope = m.T(QUICK_GELU_SLOPE)
    slope_rest = m.T(Fraction(repr(QUICK_GELU_SLOPE)) - Fraction(float(slope)))
    multiply, fma = m.use(stable.exact_product), m.fma

    def f(x: Scalar) -> Scalar:
        p, r = multiply(slope, x)
        return p, fma(slope_rest, x, r)

    return f


@functor(UnaryOp.kQuickGelu)
def quick_gelu(m: MathLibrary) -> Function:
    """x sigmoid(1.702 x), where e^-(p + r) is e^-p (1 - r)."""
    zero, limit = m.T(0), stable.by_precision(m, *QUICK_GELU_VANISHED)
    tail, clamp, exponent, gate = m.use(stable.tail), m.use(stable.clamped), m.use(quick_exponent), m.use(stable.gate)

    def f(x: Scalar) -> Scalar:
        y = clamp(x, limit)
        p, r = exponent(abs(y))
        e, factor = tail(p)
        return gate(x if x >= zero else y - y * r, e, factor, x >= zero)

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
    right. e is computed as a product, see `stable.tail`.
    """
    zero, one, two = m.T(0), m.T(1), m.T(2)
    tail, lift = m.use(stable.tail), m.use(stable.lifted)

    def f(x: Scalar) -> Scalar:
        y = lift(x)
        part, factor = tail(abs(x))
        e = part * factor
        right = one + two * e
        left = e * (e + two)
        numerator = y * right if x >= zero else (y * factor) * (part * (e + two))
        return numerator / (right + two * e * e if x >= zero else left + two)

    return f
