"""Functions that several gradients share."""

from fractions import Fraction

import numpy as np

from ep.common.functor.math_library import Function, MathLibrary


def by_precision(m: MathLibrary, single: float, double: float) -> np.floating:
    """Return, in the type of the arithmetic, the constant for float32 or the one for float64."""
    return m.T(single if m.T is np.float32 else double)


def unless_nan(m: MathLibrary) -> Function:
    """value, or NaN if dy or x is NaN: for formulas with branches that lose one of them."""

    def f(value, dy, x):
        return value if (dy == dy) & (x == x) else dy + x

    return f


def clamped(m: MathLibrary) -> Function:
    """x within [-limit, limit]; a NaN stays.

    A product of a polynomial and an e^-|x| has the limit 0 at infinity, where evaluating it would give NaN.
    """

    def f(x, limit):
        return limit if x > limit else (-limit if x < -limit else x)

    return f


def product(m: MathLibrary) -> Function:
    """dy p q for p and q that are large only together: p q is formed first unless it could overflow."""
    large = by_precision(m, 2.0**60, 2.0**500)

    def f(dy, p, q):
        return dy * (p * q) if abs(p) < large else (dy * p) * q

    return f


def square_product(m: MathLibrary) -> Function:
    """dy c p^2, where p^2 or dy c may be beyond the range though the whole is not: c goes to the second p if |c| > 1."""
    one = m.T(1)

    def f(dy, c, p):
        last = abs(c) > one
        return (dy * (p if last else c * p)) * (c * p if last else p)

    return f


def logistic_gate(m: MathLibrary) -> Function:
    """dy s (1 + w (1 - s)) for s = sigmoid(v), given h = e^(-|v|/2) and whether v >= 0.

    This is the derivative of x s(v(x)), with w = x v'(x). On the left s = h^2 / (1 + h^2), and the two factors h meet
    dy one by one: the product can be a normal number where h^2 alone is not.
    """
    one = m.T(1)

    def f(dy, h, w, right):
        e = h * h
        r = one / (one + e)
        g = r * (one + w * (e * r if right else r))
        return dy * g if right else ((dy * h) * g) * h

    return f


def root_of_gaussian(m: MathLibrary) -> Function:
    """e^(-x^2 / 2), relatively accurate: the rounding error of x^2 would be multiplied by x^2 / 2.

    x^2 is split into a multiple of a power of two, exact, and a small rest t: e^-t is 1 - t to the last bit. It is
    0, and so is every product with a finite number, beyond the limit.
    """
    limit, half, minus_half = by_precision(m, 16, 40), m.T(0.5), m.T(-0.5)
    fine, unit = by_precision(m, 2.0**8, 2.0**20), by_precision(m, 2.0**-8, 2.0**-20)
    square_fine, square_unit = by_precision(m, 2.0**16, 2.0**40), by_precision(m, 2.0**-16, 2.0**-40)
    exp, rint, clamp = m.exp, m.rint, m.use(clamped)

    def f(x):
        y = clamp(x, limit)
        head = rint(y * fine) * unit
        square = rint(y * y * square_fine) * square_unit
        rest = (head * head - square) + (y - head) * (y + head)
        e = exp(minus_half * square)
        return e - e * (half * rest)

    return f


def root_of_exp_of_multiple(m: MathLibrary, factor: float) -> Function:
    """e^(-factor |x| / 2), relatively accurate, for 1 <= factor < 2: the product is split as in `root_of_gaussian`."""
    limit, half, minus_half, c = by_precision(m, 128, 900), m.T(0.5), m.T(-0.5), m.T(factor)
    fine, unit = by_precision(m, 2.0**4, 2.0**16), by_precision(m, 2.0**-4, 2.0**-16)
    product_fine, product_unit = by_precision(m, 2.0**16, 2.0**41), by_precision(m, 2.0**-16, 2.0**-41)
    factor_bits = 11 if m.T is np.float32 else 25
    head_of_factor = round(factor * 2.0**factor_bits) / 2.0**factor_bits
    # The factor is what its decimal digits say, not the float64 next to it.
    c_head, c_tail = m.T(head_of_factor), m.T(Fraction(repr(factor)) - Fraction(head_of_factor))
    exp, rint = m.exp, m.rint

    def f(x):
        y = limit if abs(x) > limit else abs(x)
        head = rint(y * fine) * unit
        whole = rint(c * y * product_fine) * product_unit
        rest = (head * c_head - whole) + (head * c_tail + (y - head) * c)
        e = exp(minus_half * whole)
        return e - e * (half * rest)

    return f
