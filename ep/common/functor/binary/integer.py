"""Arithmetic on integers of any width, signed or not.

Sums and products wrap around by themselves: only the low bits of the result are stored. In a division, a zero divisor
and a divisor of -1 are replaced by 1 before the machine's division, which traps on 0 and, for the most negative
dividend, on -1.
"""

import numpy as np

from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor, plain_functor
from ep.include.number_kind import Kind
from ep.include.primitive.binary_op import BinaryOp


def _is_signed(m: MathLibrary) -> bool:
    return issubclass(m.T, np.signedinteger)


@plain_functor(BinaryOp.kMax, kinds=(Kind.INTEGER,))
def maximum(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger one."""
    return a if a > b else b


@plain_functor(BinaryOp.kMin, kinds=(Kind.INTEGER,))
def minimum(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller one."""
    return a if a < b else b


@functor(BinaryOp.kFloorDiv, kinds=(Kind.INTEGER,))
def floor_div(m: MathLibrary) -> Function:
    """Return the quotient rounded down; 0 for a zero divisor."""
    zero, one = m.T(0), m.T(1)
    if not _is_signed(m):

        def unsigned(a: Scalar, b: Scalar) -> Scalar:
            return zero if b == zero else a // (one if b == zero else b)

        return unsigned

    minus_one = m.T(-1)

    def signed(a: Scalar, b: Scalar) -> Scalar:
        quotient = a // (one if (b == zero) | (b == minus_one) else b)
        return zero if b == zero else (zero - a if b == minus_one else quotient)

    return signed


@functor(BinaryOp.kDiv, BinaryOp.kTruncDiv, kinds=(Kind.INTEGER,))
def trunc_div(m: MathLibrary) -> Function:
    """Return the quotient rounded toward zero; 0 for a zero divisor."""
    if not _is_signed(m):
        return floor_div(m)
    zero, one, minus_one = m.T(0), m.T(1), m.T(-1)

    def f(a: Scalar, b: Scalar) -> Scalar:
        d = one if (b == zero) | (b == minus_one) else b
        floored = a // d
        # Rounding down and rounding toward zero differ if the quotient is negative and not whole.
        quotient = floored + one if (floored < zero) & (floored * d != a) else floored
        return zero if b == zero else (zero - a if b == minus_one else quotient)

    return f


@functor(BinaryOp.kFloorMod, kinds=(Kind.INTEGER,))
def floor_mod(m: MathLibrary) -> Function:
    """Return the remainder of the floored quotient, with the sign of b; 0 for a zero divisor."""
    zero, one = m.T(0), m.T(1)
    if not _is_signed(m):

        def unsigned(a: Scalar, b: Scalar) -> Scalar:
            return a % (one if b == zero else b)

        return unsigned

    minus_one = m.T(-1)

    def signed(a: Scalar, b: Scalar) -> Scalar:
        return a % (one if (b == zero) | (b == minus_one) else b)

    return signed


@functor(BinaryOp.kFmod, kinds=(Kind.INTEGER,))
def fmod(m: MathLibrary) -> Function:
    """Return the remainder of the truncated quotient, with the sign of a; 0 for a zero divisor."""
    if not _is_signed(m):
        return floor_mod(m)
    zero, one, minus_one = m.T(0), m.T(1), m.T(-1)

    def f(a: Scalar, b: Scalar) -> Scalar:
        d = one if (b == zero) | (b == minus_one) else b
        r = a % d
        return r - d if (r != zero) & ((a < zero) != (d < zero)) else r

    return f


def power_of_natural(m: MathLibrary) -> Function:
    """Return the function a^b modulo 2^n for b >= 0, by squaring."""
    zero, one = m.T(0), m.T(1)

    def f(a: Scalar, b: Scalar) -> Scalar:
        result, square, rest = one, a, b
        while rest > zero:
            if rest & one != zero:
                result = result * square
            square = square * square
            rest = rest >> one
        return result

    return f


@functor(BinaryOp.kPow, kinds=(Kind.INTEGER,))
def power(m: MathLibrary) -> Function:
    """a^b modulo 2^n; for b < 0 the true value truncated: +-1 for a = +-1, 0 for all others, including 0."""
    natural = m.use(power_of_natural)
    if not _is_signed(m):

        def unsigned(a: Scalar, b: Scalar) -> Scalar:
            return natural(a, b)

        return unsigned

    zero, one, minus_one = m.T(0), m.T(1), m.T(-1)

    def signed(a: Scalar, b: Scalar) -> Scalar:
        if b < zero:
            return one if (a == one) | ((a == minus_one) & (b & one == zero)) else (a if a == minus_one else zero)
        return natural(a, b)

    return signed
