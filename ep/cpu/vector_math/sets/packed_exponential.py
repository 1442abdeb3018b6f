"""The exponentials of the softmaxes, on vectors: of the differences from a row's largest element, and of any number.

The relative error of e^(x - m) is the absolute error of x - m, which grows with the difference. So nothing is rounded
before the exponent is split off: x - c is exact, with c = m if that is large (then elements that are not nearly as
large are negligible), else c = 0. With x - c = n ln 2 + r, the result is e^r 2^(n - k), with k from c and m: e^(x - m)
up to a factor that is common to the row. 2^HEADROOM keeps results normal unless they are negligible in the row.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from ep.cpu.compile.jit import inlined
from ep.cpu.compile.vector import Vector, bitcast, fma, select, vector
from ep.cpu.vector_math import coefficients, constants
from ep.cpu.vector_math.instructions import scale_of_vectors
from ep.cpu.vector_math.lookup import has_register_tables, table_of_vectors
from ep.cpu.vector_math.polynomial import polynomial_pairs
from ep.cpu.vector_math.single import coefficients as single_coefficients
from ep.cpu.vector_math.single import exponential as single
from ep.cpu.vector_math.tabled import coefficients as tabled_coefficients
from ep.cpu.vector_math.tabled.powers import POWERS, SIXTEENTHS
from ep.include.data_type import DataType

VECTOR_BYTES: Final = 64
HEADROOM: Final = 64
"""The approximate power of two of a row's largest element."""


class Constants:
    """The constants of a type of arithmetic: for the reduction of x, and for the limit below which results vanish."""

    def __init__(self, T: type[np.floating], tabled: bool) -> None:
        is_single = T is np.float32
        self.log2_e = T(single.LOG2_E if is_single else constants.LOG2_E[0])
        self.shift = T(
            constants.SHIFT_FLOAT32 if is_single else constants.SHIFT_SIXTEENTHS if tabled else constants.SHIFT
        )  # leaves n in the low bits
        self.ln2 = (single.LN2, single.LN2_REST) if is_single else constants.LN2 if tabled else constants.LN2_SHORT
        self.mantissa = 23 if is_single else 52
        self.integer_shift = T(constants.SHIFT_FLOAT32 if is_single else constants.SHIFT)
        self.largest_small = T(208 if is_single else 1500)  # with c = 0; twice the limit below which results vanish
        self.least = T(HEADROOM + (124 if is_single else 1020))  # powers of two below the largest that are normal


def constants_of(double: bool) -> tuple[Constants, bool]:
    """Return the constants of float64 or float32, and whether powers are looked up in tables."""
    tabled = double and has_register_tables()
    return Constants(np.float64 if double else np.float32, tabled), tabled


def _classes(real: DataType) -> tuple[Any, Any]:
    """Return the classes of vectors of float64 or float32, and of their bits."""
    bits = DataType.kUInt64 if real is DataType.kDouble else DataType.kUInt32
    return vector(real, VECTOR_BYTES // real.itemsize), vector(bits, VECTOR_BYTES // real.itemsize)


@cache
def power(real: DataType, narrow: bool) -> Any:
    """Return a function power(x, c, shift, lowest) of vectors: e^x by a row's numbers.

    Results are 0 below `lowest`, and undefined for NaN.
    real: the type of the vectors. narrow: whether results are for 16-bit numbers.
    """
    of, tabled = constants_of(real is DataType.kDouble)
    return _power_by_table(of) if tabled else _power_by_exponent(of, real, narrow)


def _power_by_exponent(of: Constants, real: DataType, narrow: bool) -> Any:
    """Return the function for 2^n e^r with an integer n, which is added to the exponent."""
    (Row, Bits), mantissa = _classes(real), _mantissa(of, real, narrow)
    log2_e, digits = of.log2_e, of.mantissa

    @inlined
    def power(x: Vector, c: Vector, shift: Vector, lowest: Vector) -> Vector:
        d = x - c
        shifted = fma(d, log2_e, shift)
        bits = bitcast(Bits, mantissa(d, shifted - shift)) + (bitcast(Bits, shifted) << digits)
        return select(d >= lowest, bitcast(Row, bits), 0)

    return power


def _power_by_table(of: Constants) -> Any:
    """Return the function for 2^n e^r with n a multiple of 1/16.

    The fraction of n is looked up, and its integer is added to the exponent.
    """
    (Row, Bits), reduced, log2_e = _classes(DataType.kDouble), _reduction(of), of.log2_e
    sixteenth, rest_of = table_of_vectors(SIXTEENTHS), table_of_vectors(POWERS[1])

    @inlined
    def power(x: Vector, c: Vector, shift: Vector, lowest: Vector) -> Vector:
        d = x - c
        shifted = fma(d, log2_e, shift)
        r, tail = reduced(d, shifted - shift)
        index = bitcast(Bits, shifted)
        # sixteenths are shifted into the mantissa: the table's entries are without them
        p = bitcast(Row, bitcast(Bits, sixteenth(index)) + (index << 48))
        return select(d >= lowest, fma(p, r + (tail + rest_of(index)), p), 0)

    return power


def _mantissa(of: Constants, real: DataType, narrow: bool = False) -> Any:
    """Return a function of d and n that returns e^r for d = n ln(2) + r, |r| <= ln(2) / 2."""
    minus_ln2, minus_rest = (-part for part in of.ln2)
    terms = polynomial_pairs(*(coefficients if real is DataType.kDouble else single_coefficients).EXP)

    @inlined
    def mantissa(d: Vector, n: Vector) -> Vector:
        r = fma(n, minus_ln2, d)
        if narrow:
            r = fma(n, minus_rest, r)
            return 1.0 + fma(r * r, terms(r), r)
        rest = n * minus_rest
        t = r + rest
        return 1.0 + (r + fma(t * t, terms(t), rest))

    return mantissa


def _reduction(of: Constants) -> Any:
    """Return a function of d and n that returns r and e^r - 1 - r for d = n ln(2) + r, |r| <= ln(2) / 32."""
    (minus_ln2, minus_rest), terms = (-part for part in of.ln2), polynomial_pairs(*tabled_coefficients.EXP)

    @inlined
    def reduced(d: Vector, n: Vector) -> tuple[Vector, Vector]:
        r = fma(n, minus_rest, fma(n, minus_ln2, d))
        return r, r * r * terms(r)

    return reduced


@cache
def exp(real: DataType) -> Any:
    """Return a function of a vector of any numbers that returns e^x."""
    (of, tabled), (Row, Bits) = constants_of(real is DataType.kDouble), _classes(real)
    low, high = (-750.0, 750.0) if real is DataType.kDouble else (-104.0, 89.0)
    log2_e, shift, has_scale = of.log2_e, of.shift, has_register_tables()
    reduced, (power_of, rest_of) = _reduction(of), map(table_of_vectors, POWERS)
    mantissa, scale = _mantissa(of, real), scale_of_vectors(Row) if has_scale else _by_two_factors(of, real)

    @inlined
    def exp(x: Vector) -> Vector:
        x = select(low > x, low, x)
        x = select(high < x, high, x)
        shifted = fma(x, log2_e, shift)
        n = shifted - shift
        if tabled:
            r, tail = reduced(x, n)
            p = power_of(bitcast(Bits, shifted))
            p = fma(p, r + (tail + rest_of(bitcast(Bits, shifted))), p)
        else:
            p = mantissa(x, n)
        return scale(p, n if has_scale else shifted)

    return exp


def _by_two_factors(of: Constants, real: DataType) -> Any:
    """Return a function of p and shifted n that returns p 2^n, rounded once: by half of n, and the rest."""
    (Row, Bits), double, digits = _classes(real), real is DataType.kDouble, of.mantissa
    zero, most = int(of.shift.view(np.int64 if double else np.int32)), 4096 if double else 512
    half_of_most, one = most // 2, (1023 if double else 127) << digits

    @inlined
    def scaled(p: Vector, shifted: Vector) -> Vector:
        n = bitcast(Bits, shifted) - zero
        half = ((n + most) >> 1) - half_of_most
        p *= bitcast(Row, (half << digits) + one)
        return p * bitcast(Row, ((n - half) << digits) + one)

    return scaled
