"""Functions that several functors share, in forms that neither overflow nor cancel."""

import numpy as np

from ep.common.functor.math_library import Function, MathLibrary, Scalar


def sigmoid(m: MathLibrary) -> Function:
    """1 / (1 + e^-x), through e^-|x| so that the left tail keeps its relative accuracy."""
    zero, one, exp = m.T(0), m.T(1), m.exp

    def f(x: Scalar) -> Scalar:
        e = exp(-abs(x))
        return (one if x >= zero else e) / (one + e)

    return f


def softplus(m: MathLibrary) -> Function:
    """ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|)."""
    zero, exp, log1p = m.T(0), m.exp, m.log1p

    def f(x: Scalar) -> Scalar:
        return (x if x > zero else zero) + log1p(exp(-abs(x)))

    return f


def lifted(m: MathLibrary) -> Function:
    """x, but the lowest finite number for -inf.

    For an s that vanishes on the left, lifted(x) * s(x) has the limit 0 at -inf, where x * s(x) would be NaN.
    """
    lowest = m.T(np.finfo(m.T).min)

    def f(x: Scalar) -> Scalar:
        return lowest if x < lowest else x

    return f


def gated(m: MathLibrary) -> Function:
    """x * sigmoid(z), 0 where both are -inf.

    e^-|z| is taken as the square of e^(-|z|/2), whose factors meet x one by one: the product can be a normal number
    where e^-|z| alone is not.
    """
    zero, half, one, exp, lift = m.T(0), m.T(0.5), m.T(1), m.exp, m.use(lifted)

    def f(x: Scalar, z: Scalar) -> Scalar:
        y = lift(x)
        h = exp(-half * abs(z))
        return (y if z >= zero else (y * h) * h) / (one + h * h)

    return f
