"""Division of integers in their own width: Numba divides in 64 bits, which GPUs do in software."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.common.functor.binary import integer
from ep.common.functor.math_library import Function, Maker, MathLibrary, Scalar
from ep.cuda.compile.instructions import Instructions, integer_of, written
from ep.cuda.compile.numba_cuda import from_dtype


def quotient_of(scalar_type: Any) -> Function:
    """Return `quotient(a, b)` of numbers of one integer type, rounded toward zero; b is neither 0 nor -1."""
    dtype = np.dtype(scalar_type)
    number = from_dtype(dtype)
    width = integer_of(64 if dtype.itemsize == 8 else 32)
    signed = dtype.kind == "i"

    @written(number, number, number)
    def quotient(code: Instructions, a: Any, b: Any) -> Any:
        wide = code.divide(code.extend(a, width, signed), code.extend(b, width, signed), signed)
        return code.truncate(wide, code.kind_of(a))

    return quotient  # type: ignore[no-any-return]


def _signed(m: MathLibrary) -> bool:
    return issubclass(m.T, np.signedinteger)


def trunc_div(m: MathLibrary) -> Function:
    """Return the quotient rounded toward zero; 0 for a zero divisor."""
    T, zero, one, divide = m.T, m.T(0), m.T(1), quotient_of(m.T)
    if not _signed(m):

        def unsigned(a: Scalar, b: Scalar) -> Scalar:
            return zero if b == zero else divide(a, one if b == zero else b)

        return unsigned

    minus_one = m.T(-1)

    def signed(a: Scalar, b: Scalar) -> Scalar:
        quotient = divide(a, one if (b == zero) | (b == minus_one) else b)
        return zero if b == zero else (T(zero - a) if b == minus_one else quotient)

    return signed


def floor_div(m: MathLibrary) -> Function:
    """Return the quotient rounded down; 0 for a zero divisor."""
    if not _signed(m):
        return trunc_div(m)
    T, zero, one, minus_one, divide = m.T, m.T(0), m.T(1), m.T(-1), quotient_of(m.T)

    def f(a: Scalar, b: Scalar) -> Scalar:
        d = one if (b == zero) | (b == minus_one) else b
        truncated = divide(a, d)
        rest = T(a - T(truncated * d))
        quotient = T(truncated - one) if (rest != zero) & ((rest < zero) != (d < zero)) else truncated
        return zero if b == zero else (T(zero - a) if b == minus_one else quotient)

    return f


def fmod(m: MathLibrary) -> Function:
    """Return the remainder of the truncated quotient, with the sign of a; 0 for a zero divisor."""
    T, zero, one, divide = m.T, m.T(0), m.T(1), quotient_of(m.T)
    last = m.T(-1) if _signed(m) else zero

    def f(a: Scalar, b: Scalar) -> Scalar:
        d = one if (b == zero) | (b == last) else b
        return T(a - T(divide(a, d) * d))

    return f


def floor_mod(m: MathLibrary) -> Function:
    """Return the remainder of the floored quotient, with the sign of b; 0 for a zero divisor."""
    if not _signed(m):
        return fmod(m)
    T, zero, one, minus_one, divide = m.T, m.T(0), m.T(1), m.T(-1), quotient_of(m.T)

    def f(a: Scalar, b: Scalar) -> Scalar:
        d = one if (b == zero) | (b == minus_one) else b
        rest = T(a - T(divide(a, d) * d))
        return T(rest + d) if (rest != zero) & ((rest < zero) != (d < zero)) else rest

    return f


OVERRIDES: dict[Maker, Maker] = {
    integer.floor_div: floor_div,
    integer.trunc_div: trunc_div,
    integer.floor_mod: floor_mod,
    integer.fmod: fmod,
}
"""The makers of common functors that are overridden here."""
