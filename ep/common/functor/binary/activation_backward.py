"""The backward ops of the smooth activation functions.

All of them compute e^-|x| as the square of h = e^(-|x|/2), and multiply dy by h twice: dy e^-|x| can be a normal number
even if e^-|x| is not.
"""

import math

from ep.common.functor.binary.gradient import logistic_gate, nearer, product, square_product
from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.stable import by_precision, clamped, exact_product, product_exceeds, root_of_exp
from ep.common.functor.table import functor
from ep.common.functor.unary.activation import (
    FAST_GELU_A,
    FAST_GELU_B,
    QUICK_GELU_SLOPE,
    QUICK_GELU_VANISHED,
    SELU_ALPHA,
    SELU_SCALE,
    quick_exponent,
)
from ep.include.primitive.binary_op import BinaryOp

_VANISHED = (250, 1600)
"""In float32 and in float64: from here on, x e^-|x| times the largest number is less than the smallest, so it is 0."""


@functor(BinaryOp.kEluBackwardWithDyX)
def elu_backward(m: MathLibrary) -> Function:
    """dy above 0, dy alpha e^x up to it."""
    zero, half, exp, multiply = m.T(0), m.T(0.5), m.exp, m.use(square_product)

    def f(dy: Scalar, x: Scalar, alpha: Scalar) -> Scalar:
        return dy if x > zero else multiply(dy, alpha, exp(half * x))

    return f


@functor(BinaryOp.kSeluBackwardWithDyX)
def selu_backward(m: MathLibrary) -> Function:
    """dy scale above 0, dy scale alpha e^x up to it."""
    zero, half, exp, multiply = m.T(0), m.T(0.5), m.exp, m.use(square_product)
    scale, scale_alpha = m.T(SELU_SCALE), m.T(SELU_SCALE * SELU_ALPHA)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return dy * scale if x > zero else multiply(dy, scale_alpha, exp(half * x))

    return f


@functor(BinaryOp.kCeluBackwardWithDyY)
def celu_backward(m: MathLibrary) -> Function:
    """dy above 0, dy (y / alpha + 1) up to it."""
    zero, one = m.T(0), m.T(1)

    def f(dy: Scalar, y: Scalar, alpha: Scalar) -> Scalar:
        return dy if y > zero else dy * (y / alpha + one)

    return f


@functor(BinaryOp.kSigmoidBackwardWithDyY)
def sigmoid_backward_y(m: MathLibrary) -> Function:
    """dy y (1 - y)."""
    one, multiply = m.T(1), m.use(product)

    def f(dy: Scalar, y: Scalar) -> Scalar:
        return multiply(dy, one - y, y)

    return f


@functor(BinaryOp.kSigmoidBackwardWithDyX)
def sigmoid_backward_x(m: MathLibrary) -> Function:
    """dy s (1 - s) for s = sigmoid(x), which is dy e / (1 + e)^2 for e = e^-|x|."""
    half, one, exp, fma = m.T(0.5), m.T(1), m.exp, m.fma

    def f(dy: Scalar, x: Scalar) -> Scalar:
        h = exp(-half * abs(x))
        r = one / fma(h, h, one)
        return ((dy * h) * (r * r)) * h

    return f


@functor(BinaryOp.kTanhBackwardWithDyY)
def tanh_backward(m: MathLibrary) -> Function:
    """dy (1 - y^2), factored."""
    one, multiply = m.T(1), m.use(product)

    def f(dy: Scalar, y: Scalar) -> Scalar:
        return multiply(dy, one - y, one + y)

    return f


def logistic_product(m: MathLibrary) -> Function:
    """Return the function dy sigmoid(v), given h = e^(-|v|/2) and whether v >= 0."""
    one, fma = m.T(1), m.fma

    def f(dy: Scalar, h: Scalar, right: Scalar) -> Scalar:
        r = one / fma(h, h, one)
        return dy * r if right else ((dy * h) * r) * h

    return f


@functor(BinaryOp.kLogSigmoidBackwardWithDyX)
def log_sigmoid_backward(m: MathLibrary) -> Function:
    """dy / (e^x + 1)."""
    zero, minus_half, exp, times_sigmoid = m.T(0), m.T(-0.5), m.exp, m.use(logistic_product)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return times_sigmoid(dy, exp(minus_half * abs(x)), x <= zero)

    return f


@functor(BinaryOp.kSoftplusBackwardWithDyX)
def softplus_backward(m: MathLibrary) -> Function:
    """dy where beta x > threshold, else dy e^(beta x) / (e^(beta x) + 1).

    The rounding error of beta x would be multiplied by beta x, so beta x is computed to double precision if this error
    matters.
    """
    zero, limit, large = m.T(0), by_precision(m, *_VANISHED), by_precision(m, 2.0**100, 2.0**990)
    multiply, exceeds = m.use(exact_product), m.use(product_exceeds)
    root, times_sigmoid = m.use(root_of_exp), m.use(logistic_product)

    def f(dy: Scalar, x: Scalar, beta: Scalar, threshold: Scalar) -> Scalar:
        z = beta * x
        matters = (abs(z) < limit) & (abs(x) < large) & (abs(beta) < large)
        p, r = multiply(abs(beta), abs(x)) if matters else (abs(z), zero)
        return dy if exceeds(z, p, r, threshold) else times_sigmoid(dy, root(p, r), z >= zero)

    return f


@functor(BinaryOp.kSoftsignBackwardWithDyX)
def softsign_backward(m: MathLibrary) -> Function:
    """dy / (1 + |x|)^2."""
    one = m.T(1)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        d = one + abs(x)
        return (dy / d) / d

    return f


@functor(BinaryOp.kSiluBackwardWithDyX)
def silu_backward(m: MathLibrary) -> Function:
    """dy s (1 + x (1 - s)) for s = sigmoid(x)."""
    zero, minus_half, limit = m.T(0), m.T(-0.5), by_precision(m, *_VANISHED)
    exp, clamp, gate, near = m.exp, m.use(clamped), m.use(logistic_gate), m.use(nearer)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        y = clamp(x, limit)
        dy_near, a = near(dy, abs(y))
        return gate(dy, dy_near, exp(minus_half * a), y, y >= zero)

    return f


@functor(BinaryOp.kQuickGeluBackwardWithDyX)
def quick_gelu_backward(m: MathLibrary) -> Function:
    """dy (s + 1.702 x s (1 - s)) for s = sigmoid(1.702 x), with 1.702 x to double precision."""
    zero, limit, slope = m.T(0), by_precision(m, *QUICK_GELU_VANISHED), m.T(QUICK_GELU_SLOPE)
    clamp, gate, near = m.use(clamped), m.use(logistic_gate), m.use(nearer)
    exponent, root = m.use(quick_exponent), m.use(root_of_exp)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        y = clamp(x, limit)
        p, r = exponent(abs(y))
        dy_near, a = near(dy, p)
        return gate(dy, dy_near, root(a, r), slope * y, y >= zero)

    return f


@functor(BinaryOp.kFastGeluBackwardWithDyX)
def fast_gelu_backward(m: MathLibrary) -> Function:
    """dy (1/2 + t/2 + A (x/2 + 3/2 B x^3) (1 - t^2)) for t = tanh(A (x + B x^3)).

    (1 + t) / 2 is sigmoid(v) for v = 2 A (x + B x^3), and the whole is the derivative of x sigmoid(v).
    """
    zero, minus_half, one, limit = m.T(0), m.T(-0.5), m.T(1), by_precision(m, 16, 30)
    two_a, b, three_b = m.T(2 * FAST_GELU_A), m.T(FAST_GELU_B), m.T(3 * FAST_GELU_B)
    exp, fma = m.exp, m.fma
    clamp, gate, near = m.use(clamped), m.use(logistic_gate), m.use(nearer)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        y = clamp(x, limit)
        square, slope = y * y, two_a * y
        dy_near, a = near(dy, abs(slope * fma(b, square, one)))
        return gate(dy, dy_near, exp(minus_half * a), slope * fma(three_b, square, one), y >= zero)

    return f


@functor(BinaryOp.kGeluBackwardWithDyX)
def gelu_backward(m: MathLibrary) -> Function:
    """dy (1 + erf(x / sqrt 2) + x sqrt(2 / pi) e^(-x^2 / 2)) / 2; 1 + erf(z) is erfc(-z), which does not cancel.

    For very negative x, both terms have the factor e^(-x^2 / 2), which vanishes before its product with dy does. There
    erfc is computed by its asymptotic series in 1 / x^2, and dy is multiplied by the root of the factor twice.
    """
    half, one, minus_sqrt_half, limit = m.T(0.5), m.T(1), m.T(-math.sqrt(0.5)), by_precision(m, 27, 57)
    density, far = m.T(1 / math.sqrt(2 * math.pi)), by_precision(m, -9, -30)
    c1, c2, c3, c4, c5, c6 = (m.T(c) for c in (-1, 3, -15, 105, -945, 10395))
    erfc, fma, clamp, multiply = m.erfc, m.fma, m.use(clamped), m.use(exact_product)
    root, near = m.use(root_of_exp), m.use(nearer)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        y = clamp(x, limit)
        p, r = multiply(y, y)
        dy_near, a = near(dy, half * p)
        h = root(a, half * r)  # e^(-y^2 / 4), except for the part in dy_near
        left = y if y < far else far
        w = one / (left * left)
        tail = fma(w, fma(w, fma(w, fma(w, fma(w, fma(w, c6, c5), c4), c3), c2), c1), one)
        beyond = ((dy_near * h) * (density * (left - tail / left))) * h
        return beyond if y < far else dy * fma(half, erfc(minus_sqrt_half * y), y * (density * (h * h)))

    return f


@functor(BinaryOp.kMishBackwardWithDyX)
def mish_backward(m: MathLibrary) -> Function:
    """dy (x (1 - t^2) (1 - e^-s) + t) for s = ln(1 + e^x), t = tanh(s).

    With u = e^x: t = u (u + 2) / d, (1 - t^2) (1 - e^-s) = 4 u (1 + u) / d^2, d = u (u + 2) + 2. With e = e^-|x| these
    are fractions of polynomials in e on either side of 0; on the left, one factor e is taken out of both terms.
    """
    zero, minus_half, one, two, four = m.T(0), m.T(-0.5), m.T(1), m.T(2), m.T(4)
    limit, exp, fma = by_precision(m, *_VANISHED), m.exp, m.fma
    clamp, near = m.use(clamped), m.use(nearer)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        y = clamp(x, limit)
        right = y >= zero
        dy_near, a = near(dy, abs(y))
        h = exp(minus_half * a)
        e = h * h
        d = fma(two * e, e, fma(two, e, one)) if right else fma(e, e, fma(two, e, two))
        t = fma(two, e, one) if right else two + e
        power = e if right else one
        slope = four * y * (one + e) * power * power
        g = (t + slope / d) / d
        return dy * g if right else ((dy_near * h) * g) * h

    return f
