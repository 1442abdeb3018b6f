"""The Hurwitz zeta function."""

import numpy as np

from ep.common.functor.coefficients import EULER_MACLAURIN
from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor
from ep.include.primitive.binary_op import BinaryOp

_TERMS = 9
"""The number of terms that are summed one by one. An integral with Euler-Maclaurin corrections replaces the others."""


def zeta_of_positive(m: MathLibrary) -> Function:
    """Return the function that sums (q + n)^-x over n >= 0, for x > 1 and q > 0.

    With w = q + 9 the rest of the sum from n = 9 on is w^(1-x) / (x - 1) + w^-x (1/2 + x / (12 w) - ...). w^(1-x) is
    not computed as w w^-x: it can be a normal number even if w^-x is not. A power multiplies the relative error of its
    base by x, which is corrected in the sum.
    """
    zero, half, one, largest = m.T(0), m.T(0.5), m.T(1), m.T(np.finfo(m.T).max)
    terms, epsilon = m.T(_TERMS), m.T(np.finfo(m.T).eps / 2)
    coefficients, power = tuple(m.T(c) for c in EULER_MACLAURIN), m.pow
    fma = m.fma

    def f(infinite_x: Scalar, q: Scalar) -> Scalar:
        # At the largest number q^-x is already 0, 1 or infinite, and the corrections below are still finite.
        x = largest if infinite_x > largest else infinite_x
        n, total = zero, zero
        while n < terms:
            base = q + n
            of_n = base - q
            error = (q - (base - of_n)) + (n - of_n)  # of the sum, exactly; NaN if q is infinite
            term = power(base, -x)
            total += term * fma(-x, error / base, one) if error == error else term
            n += one
        w = q + terms
        integral = power(w, one - x)
        last = integral / w
        total += integral / (x - one)
        total = fma(half, last, total)
        k, term = zero, last * (x / w)
        for c in coefficients:
            correction = term * c
            total += correction
            if abs(correction) <= epsilon * abs(total):
                break
            k += one
            term *= (x + k) / w
            k += one
            term *= (x + k) / w
        return total

    return f


@functor(BinaryOp.kZeta)
def zeta(m: MathLibrary) -> Function:
    """Return the Hurwitz zeta function, the sum of (q + n)^-x over n >= 0.

    +inf for x = 1 and for q = 0, -1, -2, ...; NaN for x < 1, and for other q < 0 unless x is an integer. For an integer
    x, the terms with a negative base are (-1)^x times those of a finite sum with positive bases: the work does not
    depend on how far q is from 0.
    """
    zero, half, one = m.T(0), m.T(0.5), m.T(1)
    infinity, nan = m.T(np.inf), m.T(np.nan)
    floor, positive = m.floor, m.use(zeta_of_positive)

    def f(x: Scalar, q: Scalar) -> Scalar:
        if (x != x) | (q != q):
            return x + q
        if x == one:
            return infinity
        if x < one:
            return nan
        if q > zero:
            return positive(x, q)
        if q == floor(q):
            return infinity
        if x != floor(x):
            return nan
        p = -q
        fraction = p - floor(p)
        mirrored = positive(x, fraction) - positive(x, p + one)
        near = positive(x, one - fraction)
        even = half * x == floor(half * x)
        if (near == infinity) & (mirrored == infinity):
            return near if even | (fraction > half) else -near
        return near + (mirrored if even else -mirrored)

    return f
