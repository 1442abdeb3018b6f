"""The backward ops of the elementary functions and of the functions around the gamma function.

Factors that would overflow or vanish together are multiplied by dy one at a time, so a result is correct wherever it is
representable.
"""

import math

from ep.common.functor.binary.gradient import exp2_product, exp_product, root_of_gaussian, square_product
from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.stable import by_precision
from ep.common.functor.table import functor, plain_functor
from ep.common.functor.unary.special import digamma, trigamma
from ep.include.primitive.binary_op import BinaryOp

_SQUARES_TO = (2.0**60, 2.0**500)
"""In float32 and in float64: squares of smaller numbers do not overflow; 1 is negligible beyond."""


@functor(BinaryOp.kAcosBackwardWithDyX)
def acos_backward(m: MathLibrary) -> Function:
    """-dy / sqrt(1 - x^2)."""
    one, sqrt = m.T(1), m.sqrt

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return -dy / sqrt((one - x) * (one + x))

    return f


@functor(BinaryOp.kAsinBackwardWithDyX)
def asin_backward(m: MathLibrary) -> Function:
    """dy / sqrt(1 - x^2)."""
    one, sqrt = m.T(1), m.sqrt

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return dy / sqrt((one - x) * (one + x))

    return f


@functor(BinaryOp.kAcoshBackwardWithDyX)
def acosh_backward(m: MathLibrary) -> Function:
    """dy / sqrt(x^2 - 1)."""
    one, large, sqrt = m.T(1), by_precision(m, *_SQUARES_TO), m.sqrt

    def f(dy: Scalar, x: Scalar) -> Scalar:
        a = abs(x)
        return dy / (sqrt((a - one) * (a + one)) if a < large else a)

    return f


@functor(BinaryOp.kAsinhBackwardWithDyX)
def asinh_backward(m: MathLibrary) -> Function:
    """dy / sqrt(1 + x^2)."""
    one, large, sqrt, fma = m.T(1), by_precision(m, *_SQUARES_TO), m.sqrt, m.fma

    def f(dy: Scalar, x: Scalar) -> Scalar:
        a = abs(x)
        return dy / (sqrt(fma(a, a, one)) if a < large else a)

    return f


@functor(BinaryOp.kAtanBackwardWithDyX)
def atan_backward(m: MathLibrary) -> Function:
    """dy / (1 + x^2)."""
    one, large, fma = m.T(1), by_precision(m, *_SQUARES_TO), m.fma

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return dy / fma(x, x, one) if abs(x) < large else (dy / x) / x

    return f


@functor(BinaryOp.kAtanhBackwardWithDyX)
def atanh_backward(m: MathLibrary) -> Function:
    """dy / (1 - x^2)."""
    one, large = m.T(1), by_precision(m, *_SQUARES_TO)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        p, q = one - x, one + x
        return dy / (p * q) if abs(x) < large else (dy / p) / q

    return f


@functor(BinaryOp.kSinBackwardWithDyX)
def sin_backward(m: MathLibrary) -> Function:
    """dy cos x."""
    cos = m.cos

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return dy * cos(x)

    return f


@functor(BinaryOp.kCosBackwardWithDyX)
def cos_backward(m: MathLibrary) -> Function:
    """-dy sin x."""
    sin = m.sin

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return -dy * sin(x)

    return f


@functor(BinaryOp.kTanBackwardWithDyX)
def tan_backward(m: MathLibrary) -> Function:
    """dy / cos^2 x."""
    cos = m.cos

    def f(dy: Scalar, x: Scalar) -> Scalar:
        c = cos(x)
        return dy / (c * c)

    return f


@functor(BinaryOp.kCoshBackwardWithDyX)
def cosh_backward(m: MathLibrary) -> Function:
    """dy sinh x, which is dy +- e^|x| / 2 where sinh x overflows."""
    zero, half, far, sinh, multiply = m.T(0), m.T(0.5), by_precision(m, 80, 700), m.sinh, m.use(exp_product)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return dy * sinh(x) if abs(x) < far else multiply(dy if x > zero else -dy, half, abs(x))

    return f


@functor(BinaryOp.kSinhBackwardWithDyX)
def sinh_backward(m: MathLibrary) -> Function:
    """dy cosh x, which is dy e^|x| / 2 where cosh x overflows."""
    half, far, cosh, multiply = m.T(0.5), by_precision(m, 80, 700), m.cosh, m.use(exp_product)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return dy * cosh(x) if abs(x) < far else multiply(dy, half, abs(x))

    return f


@functor(BinaryOp.kErfBackwardWithDyX)
def erf_backward(m: MathLibrary) -> Function:
    """dy 2 / sqrt(pi) e^(-x^2)."""
    factor, root, multiply = m.T(2 / math.sqrt(math.pi)), m.use(root_of_gaussian), m.use(square_product)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return multiply(dy, factor, root(x))

    return f


@functor(BinaryOp.kErfcBackwardWithDyX)
def erfc_backward(m: MathLibrary) -> Function:
    """-dy 2 / sqrt(pi) e^(-x^2)."""
    erf_gradient = m.use(erf_backward)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return -erf_gradient(dy, x)

    return f


@functor(BinaryOp.kExpBackwardWithDyX, BinaryOp.kExpm1BackwardWithDyX)
def exp_backward(m: MathLibrary) -> Function:
    """dy e^x."""
    one, multiply = m.T(1), m.use(exp_product)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return multiply(dy, one, x)

    return f


@functor(BinaryOp.kExp2BackwardWithDyX)
def exp2_backward(m: MathLibrary) -> Function:
    """dy 2^x ln 2."""
    ln2, multiply = m.T(math.log(2)), m.use(exp2_product)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return multiply(dy, ln2, x)

    return f


@plain_functor(BinaryOp.kLogBackwardWithDyX)
def log_backward(dy: Scalar, x: Scalar) -> Scalar:
    """dy / x."""
    return dy / x


@functor(BinaryOp.kLog2BackwardWithDyX)
def log2_backward(m: MathLibrary) -> Function:
    """dy / (x ln 2)."""
    factor = m.T(1 / math.log(2))

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return (dy / x) * factor

    return f


@functor(BinaryOp.kLog10BackwardWithDyX)
def log10_backward(m: MathLibrary) -> Function:
    """dy / (x ln 10).

    1 / ln 10 is less than 1: it goes first if dy / x alone could overflow, last if dy alone would lose bits.
    """
    one, factor, small = m.T(1), m.T(1 / math.log(10)), m.T(2.0**-60)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        first = abs(dy) > small
        return (dy * (factor if first else one)) / x * (one if first else factor)

    return f


@functor(BinaryOp.kLog1pBackwardWithDyX)
def log1p_backward(m: MathLibrary) -> Function:
    """dy / (1 + x)."""
    one = m.T(1)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return dy / (one + x)

    return f


@functor(BinaryOp.kLgammaBackwardWithDyX)
def lgamma_backward(m: MathLibrary) -> Function:
    """dy psi(x), which is -dy / x near 0."""
    small, psi = m.T(2.0**-60), m.use(digamma)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return -dy / x if abs(x) < small else dy * psi(x)

    return f


@functor(BinaryOp.kDigammaBackwardWithDyX)
def digamma_backward(m: MathLibrary) -> Function:
    """dy psi'(x), which is dy / x^2 near 0."""
    small, psi1 = m.T(2.0**-60), m.use(trigamma)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return (dy / x) / x if abs(x) < small else dy * psi1(x)

    return f
