"""Arithmetic on floating-point numbers, complex numbers and bool. For integers, see `integer`."""

import numpy as np

from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.stable import by_precision, exact_product
from ep.common.functor.table import functor, plain_functor
from ep.include.number_kind import Kind
from ep.include.primitive.binary_op import BinaryOp


@plain_functor(BinaryOp.kAdd, kinds=(Kind.INTEGER, Kind.FLOAT, Kind.COMPLEX))
def add(a: Scalar, b: Scalar) -> Scalar:
    """a + b."""
    return a + b


@plain_functor(BinaryOp.kSub, kinds=(Kind.INTEGER, Kind.FLOAT, Kind.COMPLEX))
def sub(a: Scalar, b: Scalar) -> Scalar:
    """a - b."""
    return a - b


@plain_functor(BinaryOp.kMul, kinds=(Kind.INTEGER, Kind.FLOAT))
def mul(a: Scalar, b: Scalar) -> Scalar:
    """a b."""
    return a * b


@functor(BinaryOp.kMul, kinds=(Kind.COMPLEX,))
def complex_mul(m: MathLibrary) -> Function:
    """a b by the textbook formula, as NumPy has it, without C99's recovery of infinities."""
    fma = m.fma

    def f(a: Scalar, b: Scalar) -> Scalar:
        return complex(fma(a.real, b.real, -(a.imag * b.imag)), fma(a.real, b.imag, a.imag * b.real))

    return f


@plain_functor(BinaryOp.kDiv)
def div(a: Scalar, b: Scalar) -> Scalar:
    """a / b."""
    return a / b


def smith_div(m: MathLibrary) -> Function:
    """Return the function a / b by Smith's method: b is scaled by its larger part.

    As NumPy, also for zeros, infinities and NaN.
    A zero divisor divides both parts of a by +0.
    """
    real_type = type(m.T(0).real)
    zero, one, fma = real_type(0), real_type(1), m.fma

    def f(a: Scalar, b: Scalar) -> Scalar:
        if abs(b.real) >= abs(b.imag):
            if b.real == zero and b.imag == zero:
                return complex(a.real / abs(b.real), a.imag / abs(b.real))
            ratio = b.imag / b.real
            scale = one / fma(b.imag, ratio, b.real)
            return complex(fma(a.imag, ratio, a.real) * scale, fma(-a.real, ratio, a.imag) * scale)
        ratio = b.real / b.imag
        scale = one / fma(b.real, ratio, b.imag)
        return complex(fma(a.real, ratio, a.imag) * scale, fma(a.imag, ratio, -a.real) * scale)

    return f


def middling(m: MathLibrary) -> Function:
    """Return the function that gives a power of two for a number.

    Products of two scaled ones neither overflow nor vanish.
    """
    one, large, small = (by_precision(m, *c) for c in ((1, 1), (2.0**60, 2.0**500), (2.0**-50, 2.0**-480)))
    up, down = by_precision(m, 2.0**100, 2.0**600), by_precision(m, 2.0**-100, 2.0**-600)

    def f(z: Scalar) -> Scalar:
        longest = abs(z.real) if abs(z.real) > abs(z.imag) else abs(z.imag)
        return down if longest > large else (up if longest < small else one)

    return f


@functor(BinaryOp.kDiv, kinds=(Kind.COMPLEX,))
def complex_div(m: MathLibrary) -> Function:
    """a conj(b) / |b|^2 with both scaled by powers of two, so that nothing overflows before the result does.

    Products are summed unrounded: either part is as accurate as a quotient of real numbers, and z / z is 1.
    """
    real_type = type(m.T(0).real)
    zero, one, infinity = real_type(0), real_type(1), real_type(np.inf)
    smith, scale_of, multiply = m.use(smith_div), m.use(middling), m.use(exact_product)

    def f(a: Scalar, b: Scalar) -> Scalar:
        finite = (abs(a.real) < infinity) & (abs(a.imag) < infinity)
        finite = finite & (abs(b.real) < infinity) & (abs(b.imag) < infinity)
        if not finite or (b.real == zero and b.imag == zero):
            return smith(a, b)
        s, t = scale_of(a), scale_of(b)
        p, q, u, v = a.real * s, a.imag * s, b.real * t, b.imag * t
        pu, pu_rest = multiply(p, u)
        qv, qv_rest = multiply(q, v)
        qu, qu_rest = multiply(q, u)
        pv, pv_rest = multiply(v, p)  # in this order: for z / z it has the rounding error of q u
        uu, uu_rest = multiply(u, u)
        vv, vv_rest = multiply(v, v)
        length = (uu + vv) + (uu_rest + vv_rest)
        real, imag = ((pu + qv) + (pu_rest + qv_rest)) / length, ((qu - pv) + (qu_rest - pv_rest)) / length
        # the two scales are equal, or do not work against each other
        first, second = (one, one) if s == t else (t, one / s)
        return complex((real * first) * second, (imag * first) * second)

    return f


@plain_functor(BinaryOp.kMax)
def maximum(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger one, b where they are equal; NaN if either is."""
    return b if (a <= b) | (b != b) else a


@plain_functor(BinaryOp.kMin)
def minimum(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller one, b where they are equal; NaN if either is."""
    return b if (a >= b) | (b != b) else a


@functor(BinaryOp.kPow)
def power(m: MathLibrary) -> Function:
    """a^b by C's rules: 1 for b = 0 and for a = 1, even if the other one is NaN."""
    power_of = m.pow

    def f(a: Scalar, b: Scalar) -> Scalar:
        return power_of(a, b)

    return f


@functor(BinaryOp.kFmod)
def fmod(m: MathLibrary) -> Function:
    """Return the remainder of the truncated quotient: it has the sign of a."""
    remainder = m.fmod

    def f(a: Scalar, b: Scalar) -> Scalar:
        return remainder(a, b)

    return f


@functor(BinaryOp.kFloorMod)
def floor_mod(m: MathLibrary) -> Function:
    """Return the remainder of the floored quotient, with the sign of b; for a floating 0 see docs/semantics.md."""
    zero, remainder = m.T(0), m.fmod

    def f(a: Scalar, b: Scalar) -> Scalar:
        r = remainder(a, b)
        return r + b if (r != zero) & ((r < zero) != (b < zero)) else r

    return f


@functor(BinaryOp.kFloorDiv)
def floor_div(m: MathLibrary) -> Function:
    """Return the rounded quotient, rounded down; it differs from Python's: see docs/semantics.md."""
    floor = m.floor

    def f(a: Scalar, b: Scalar) -> Scalar:
        return floor(a / b)

    return f


@functor(BinaryOp.kTruncDiv)
def trunc_div(m: MathLibrary) -> Function:
    """Return the rounded quotient, rounded toward zero."""
    trunc = m.trunc

    def f(a: Scalar, b: Scalar) -> Scalar:
        return trunc(a / b)

    return f


@plain_functor(BinaryOp.kAdd, BinaryOp.kMax, kinds=(Kind.BOOL,))
def bool_or(a: Scalar, b: Scalar) -> Scalar:
    """a or b: the sum and the maximum, converted to bool."""
    return a | b


@plain_functor(BinaryOp.kSub, kinds=(Kind.BOOL,))
def bool_xor(a: Scalar, b: Scalar) -> Scalar:
    """a exclusive-or b: the difference, converted to bool."""
    return a ^ b


@plain_functor(
    *(BinaryOp.kMul, BinaryOp.kMin, BinaryOp.kDiv, BinaryOp.kFloorDiv, BinaryOp.kTruncDiv),
    kinds=(Kind.BOOL,),
)
def bool_and(a: Scalar, b: Scalar) -> Scalar:
    """a and b: the product, the minimum, and the quotient, with 0 for a zero divisor."""
    return a & b


@plain_functor(BinaryOp.kFmod, BinaryOp.kFloorMod, kinds=(Kind.BOOL,))
def bool_mod(a: Scalar, b: Scalar) -> Scalar:
    """False: the remainder by 1, and the result for a zero divisor."""
    return False


@plain_functor(BinaryOp.kPow, kinds=(Kind.BOOL,))
def bool_pow(a: Scalar, b: Scalar) -> Scalar:
    """a^b of 0 and 1; 0^0 = 1."""
    return a | (not b)
