"""Functions that several gradients share."""

import math

import numpy as np

from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.stable import by_precision, clamped, exact_product, root_of_exp


def unless_nan(m: MathLibrary) -> Function:
    """Return the function that gives `value`, or NaN if dy or x is NaN: for formulas whose branches may drop a NaN."""

    def f(value: Scalar, dy: Scalar, x: Scalar) -> Scalar:
        return value if (dy == dy) & (x == x) else dy + x

    return f


def product(m: MathLibrary) -> Function:
    """Return the function dy p q, for p and q that are large only together.

    p q is formed first unless it could overflow.
    """
    large = by_precision(m, 2.0**60, 2.0**500)

    def f(dy: Scalar, p: Scalar, q: Scalar) -> Scalar:
        return dy * (p * q) if abs(p) < large else (dy * p) * q

    return f


def quotient(m: MathLibrary) -> Function:
    """Return the function dy / p / q: p q could overflow, or vanish, even if the result does not.

    A subnormal dy is scaled first, unless p makes it a normal number: the rounding error of dy / p would be divided by
    a small q.
    """
    one, tiny, small = m.T(1), m.T(np.finfo(m.T).tiny), by_precision(m, 2.0**-30, 2.0**-60)
    up, down = by_precision(m, 2.0**32, 2.0**64), by_precision(m, 2.0**-32, 2.0**-64)

    def f(dy: Scalar, p: Scalar, q: Scalar) -> Scalar:
        subnormal = (abs(dy) < tiny) & (abs(p) > small)
        return (dy * (up if subnormal else one)) / p / q * (down if subnormal else one)

    return f


def square_product(m: MathLibrary) -> Function:
    """Return the function dy c p^2 for p > 0, if p^2 or dy c may be out of range though the result is not.

    c is multiplied when the intermediate product stays between dy and the result. A subnormal dy is scaled first: the
    rounding error of dy p would be multiplied by the second p.
    """
    one, tiny, large = m.T(1), m.T(np.finfo(m.T).tiny), by_precision(m, 2.0**60, 2.0**500)
    up, down = by_precision(m, 2.0**32, 2.0**64), by_precision(m, 2.0**-32, 2.0**-64)

    def f(dy: Scalar, c: Scalar, p: Scalar) -> Scalar:
        shrinks, grows = abs(c) <= one, p >= one
        subnormal = (abs(dy) < tiny) & (p < large)
        first = (dy * up if subnormal else dy) * (c * p if shrinks else p)
        second = first * (p if shrinks | grows else c * p)
        third = second * c if grows & (not shrinks) else second
        return third * down if subnormal else third

    return f


_FAR = (160, 1400)
"""In float32 and in float64: up to here, e^(x / 2) does not overflow; down to the negative of it, it loses no bits."""

_STEP = (32, 64)


def nearer(m: MathLibrary) -> Function:
    """Return the function that gives (dy', x') with dy e^-x = dy' e^-x', for x >= 0.

    If dy x e^-x is not 0, e^(-x' / 2) keeps all bits. For large x, only a large dy makes the product other than 0, so
    dy' is not among the smallest numbers.
    """
    one, zero, far = m.T(1), m.T(0), by_precision(m, *_FAR)
    step, factor = by_precision(m, *_STEP), by_precision(m, *map(math.exp, (-_STEP[0], -_STEP[1])))

    def f(dy: Scalar, x: Scalar) -> Scalar:
        beyond = x > far
        return dy * (factor if beyond else one), x - (step if beyond else zero)

    return f


def _power_product(power: Function, far: Scalar, step: Scalar, limit: Scalar, factor: Scalar) -> Function:
    """Return the function dy c power(x), correct wherever it is representable; 0 for dy = 0 unless x is infinite.

    power: e^x or 2^x; up to `far` on either side it neither overflows nor loses bits.
    step, factor: beyond `far`, x is reduced by twice the step, and dy is multiplied by factor = power(step) before and
        after. The smallest dy times power(far - step) is a normal number.
    limit: from here on every dy but 0 gives infinity; power(limit - 2 step) does not overflow.
    """
    scalar_type = type(step)
    zero, one, infinity, twice = scalar_type(0), scalar_type(1), scalar_type(np.inf), step + step
    inverse = one / factor

    def f(dy: Scalar, c: Scalar, x: Scalar) -> Scalar:
        above, below = x > far, x < -far
        y = limit if (x > limit) & (x < infinity) else x
        scale = factor if above else (inverse if below else one)
        return ((dy * scale) * (c * power(y - (twice if above else (-twice if below else zero))))) * scale

    return f


def exp_product(m: MathLibrary) -> Function:
    """Return the function dy c e^x for |c| <= 1."""
    far, step, limit = by_precision(m, 80, 500), by_precision(m, 55, 400), by_precision(m, 196, 1480)
    return _power_product(m.exp, far, step, limit, by_precision(m, math.exp(55), math.exp(400)))


def exp2_product(m: MathLibrary) -> Function:
    """Return the function dy c 2^x for |c| <= 1."""
    far, step, limit = by_precision(m, 110, 700), by_precision(m, 80, 600), by_precision(m, 280, 2140)
    return _power_product(m.exp2, far, step, limit, by_precision(m, 2.0**80, 2.0**600))


def root_of_gaussian(m: MathLibrary) -> Function:
    """Return the function e^(-x^2 / 2), with x^2 to double precision: its error would be multiplied by x^2 / 2."""
    limit, clamp = by_precision(m, 16, 40), m.use(clamped)
    multiply, root = m.use(exact_product), m.use(root_of_exp)

    def f(x: Scalar) -> Scalar:
        y = clamp(x, limit)
        p, r = multiply(y, y)
        return root(p, r)

    return f


def logistic_gate(m: MathLibrary) -> Function:
    """Return the function dy s (1 + w (1 - s)) for s = sigmoid(v), given dy', h = e^(-|v'|/2) of `nearer`, and v >= 0.

    This is the derivative of x s(v(x)), with w = x v'(x). On the left s = h^2 / (1 + h^2), and dy is multiplied by h
    twice: the product can be a normal number even if h^2 is not. If v' differs from v, h^2 is negligible compared with
    1.
    """
    one, fma = m.T(1), m.fma

    def f(dy: Scalar, dy_near: Scalar, h: Scalar, w: Scalar, right: Scalar) -> Scalar:
        e = h * h
        r = one / (one + e)
        g = r * fma(w, e * r if right else r, one)
        return dy * g if right else ((dy_near * h) * g) * h

    return f
