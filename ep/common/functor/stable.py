"""Functions that several functors share, in forms that do not overflow, cancel, or magnify rounding errors."""

import math
from typing import Any, Final

import numpy as np

from ep.common.functor.math_library import Function, MathLibrary, Scalar

_TAIL: Final = (64.0, 600.0)
"""In float32 and in float64: up to here, e^-t is a normal number, and e^(c - t) is as long as x e^-t is not 0."""


def by_precision(m: MathLibrary, single: float, double: float) -> Any:
    """Return the constant for float32 or the one for float64, in the type of the arithmetic or of its parts."""
    real_type = type(m.T(0).real)
    return real_type(single if real_type is np.float32 else double)


def clamped(m: MathLibrary) -> Function:
    """Return the function that clamps x to [-limit, limit]; a NaN stays.

    A product of a polynomial and e^-|x| has the limit 0 at infinity, but evaluating it there would give NaN.
    """

    def f(x: Scalar, limit: Scalar) -> Scalar:
        return limit if x > limit else (-limit if x < -limit else x)

    return f


def exact_product(m: MathLibrary) -> Function:
    """Return the function that gives (p, r) with p + r = a b exactly, except for a rounding of r.

    The operands are below the largest number / 2^28. Every product that is added to a sum is exact, so fusing the two
    changes nothing.
    """
    split = by_precision(m, 2.0**12, 2.0**27)

    def f(a: Scalar, b: Scalar) -> Scalar:
        s, t = a + a * split, b + b * split
        a_head, b_head = s - (s - a), t - (t - b)
        head = a_head * b_head
        tail = a_head * (b - b_head) + (a - a_head) * b
        p = head + tail
        return p, (head - p) + tail

    return f


def product_exceeds(m: MathLibrary) -> Function:
    """Return the test of whether a product is above a limit, given it rounded, and its magnitude as p + r."""
    zero = m.T(0)

    def f(rounded: Scalar, p: Scalar, r: Scalar, limit: Scalar) -> Scalar:
        rest = (p - abs(rounded)) + r
        return (rounded > limit) | ((rounded == limit) & (rest > zero if rounded > zero else rest < zero))

    return f


def root_of_exp(m: MathLibrary) -> Function:
    """Return the function e^(-(p + r) / 2) for a remainder r whose square is negligible compared with 1."""
    half, minus_half, exp, fma = m.T(0.5), m.T(-0.5), m.exp, m.fma

    def f(p: Scalar, r: Scalar) -> Scalar:
        e = exp(minus_half * p)
        return fma(-e, half * r, e)

    return f


def sigmoid(m: MathLibrary) -> Function:
    """Return the function 1 / (1 + e^-x), computed by e^-|x| so that the left tail keeps its relative accuracy."""
    zero, one, exp = m.T(0), m.T(1), m.exp

    def f(x: Scalar) -> Scalar:
        e = exp(-abs(x))
        return (one if x >= zero else e) / (one + e)

    return f


def softplus(m: MathLibrary) -> Function:
    """Return the function ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|)."""
    zero, exp, log1p = m.T(0), m.exp, m.log1p

    def f(x: Scalar) -> Scalar:
        return (x if x > zero else zero) + log1p(exp(-abs(x)))

    return f


def lifted(m: MathLibrary) -> Function:
    """Return the function that gives x, but the lowest finite number for -inf.

    If s vanishes on the left, lifted(x) * s(x) has the limit 0 at -inf; x * s(x) would be NaN.
    """
    lowest = m.T(np.finfo(m.T).min)

    def f(x: Scalar) -> Scalar:
        return lowest if x < lowest else x

    return f


def gate(m: MathLibrary) -> Function:
    """Return the function x * sigmoid(z), given e = e^(c - |z|), e^-c and whether z >= 0; 0 if x and z are -inf.

    See `tail`: x is multiplied by the factors one at a time, so the product can be a normal number even if e^-|z| is
    not.
    """
    one, lift = m.T(1), m.use(lifted)

    def f(x: Scalar, e: Scalar, factor: Scalar, right: Scalar) -> Scalar:
        y = lift(x)
        return (y if right else (y * factor) * e) / (one + e * factor)

    return f


def tail(m: MathLibrary) -> Function:
    """Return the function that gives the pair (e^(c - t), e^-c) for t >= 0.

    c is 0 unless e^-t could be less than the smallest normal number. The square of e^(-t/2) would serve as well, but
    doubles the relative error of the exponential.
    """
    zero, one, end = m.T(0), m.T(1), by_precision(m, *_TAIL)
    factor, exp = by_precision(m, *(math.exp(-t) for t in _TAIL)), m.exp

    def f(t: Scalar) -> Scalar:
        far = t > end
        return exp((end if far else zero) - t), factor if far else one

    return f


def gated(m: MathLibrary) -> Function:
    """Return the function x * sigmoid(z), 0 if both are -inf."""
    zero, tail_of, times_sigmoid = m.T(0), m.use(tail), m.use(gate)

    def f(x: Scalar, z: Scalar) -> Scalar:
        e, factor = tail_of(abs(z))
        return times_sigmoid(x, e, factor, z >= zero)

    return f
