"""The exponentials of the softmaxes, on vectors: of the differences from a row's largest element, and of any number.

The relative error of e^(x - m) is the absolute error of x - m, which grows with the difference. So nothing is rounded
before the exponent is split off: x - c is exact, with c = m if that is large (then elements that are not nearly as
large are negligible), else c = 0. With x - c = n ln 2 + r, the result is e^r 2^(n - k), with k from c and m: e^(x - m)
up to a factor that is common to the row. 2^HEADROOM keeps results normal unless they are negligible in the row.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ep.cpu.compile.jit import jit
from ep.cpu.compile.packed import Packed
from ep.cpu.vector_math import coefficients, constants, exponential
from ep.cpu.vector_math.bits import both, fabs, fma, select
from ep.cpu.vector_math.instructions import scaled_vector
from ep.cpu.vector_math.lookup import has_register_tables, looked_up
from ep.cpu.vector_math.single import coefficients as single_coefficients
from ep.cpu.vector_math.single import exponential as single
from ep.cpu.vector_math.sums import sum_of_ordered
from ep.cpu.vector_math.tabled import coefficients as tabled_coefficients
from ep.cpu.vector_math.tabled.powers import POWERS, SIXTEENTHS

HEADROOM: Final = 64
"""The approximate power of two of a row's largest element."""


class _Constants:
    """The constants of a type of arithmetic: for the reduction of x, and for the limit below which results vanish."""

    def __init__(self, T: type[np.floating], tabled: bool) -> None:
        is_single = T is np.float32
        self.log2_e = T(single.LOG2_E if is_single else constants.LOG2_E[0])
        self.shift = T(
            single.SHIFT if is_single else constants.SHIFT_SIXTEENTHS if tabled else constants.SHIFT
        )  # leaves n in the low bits
        self.ln2 = (single.LN2, single.LN2_REST) if is_single else constants.LN2 if tabled else constants.LN2_SHORT
        self.mantissa = 23 if is_single else 52
        self.integer_shift = T(single.SHIFT if is_single else constants.SHIFT)
        self.largest_small = T(208 if is_single else 1500)  # with c = 0; twice the limit below which results vanish
        self.least = T(HEADROOM + (124 if is_single else 1020))  # powers of two below the largest that are normal


def _constants(double: bool) -> tuple[_Constants, bool]:
    tabled = double and has_register_tables()
    return _Constants(np.float64 if double else np.float32, tabled), tabled


def row_numbers(T: type[np.floating]) -> Any:
    """Return a function numbers(largest) -> (c, shift, lowest), which is the argument `row` of `power`.

    If largest is not finite, lowest is infinite.
    """
    of, _ = _constants(T is np.float64)
    zero, infinity, ln2 = T(0), T(np.inf), T(of.ln2[0])
    log2_e, whole, shift, headroom, most, least = (
        of.log2_e, of.integer_shift, of.shift, T(HEADROOM), of.largest_small, of.least,
    )  # fmt: skip

    @jit
    def numbers(largest):
        size = fabs(largest)
        finite = size < infinity
        c = select(both(finite, size > most), largest, zero)
        k = fma(select(finite, largest - c, zero), log2_e, whole) - whole
        return c, shift - (k - headroom), select(finite, (k - least) * ln2, infinity)

    return numbers


def row_factor(T: type[np.floating]) -> Any:
    """Return a function factor(largest, c, shift): results of `power` times this factor are e^(x - largest).

    The factor is high + low, in float64.
    """
    of, _ = _constants(T is np.float64)
    of_shift, headroom, (ln2, ln2_rest), scale = float(of.shift), HEADROOM, constants.LN2_SHORT, 2.0**-HEADROOM
    fraction = exponential.exp_fraction

    @jit
    def factor(largest, c, shift):
        k = (of_shift - np.float64(shift)) + headroom
        r = fma(k, ln2, np.float64(c) - np.float64(largest))  # exact, and not above ln(2) / 2
        rest = k * ln2_rest
        t = r + rest
        one, lost = sum_of_ordered(1.0, r)
        high, low = sum_of_ordered(one, fma(t * t, fraction(t), lost + rest))
        return high * scale, low * scale

    return factor


def power(v: Packed, x: Any, row: tuple[Any, Any, Any], narrow: bool) -> Any:
    """Return e^x by a row's numbers, in every lane; 0 below `lowest`, undefined for NaN.

    narrow: the result is for 16-bit numbers.
    """
    c, shift, lowest = row
    of, tabled = _constants(v.double)
    d = v.builder.fsub(x, c)
    counts = v.builder.fcmp_ordered(">=", d, lowest)
    shifted = v.fma(d, v.constant(of.log2_e), shift)
    n = v.builder.fsub(shifted, shift)
    if tabled:
        result = _by_table(v, of, d, n, shifted)
    else:
        p = _mantissa(v, of, d, n, narrow)
        scale = v.builder.shl(v.bits(shifted), v.integer(of.mantissa))
        result = v.number(v.builder.add(v.bits(p), scale))
    return v.builder.select(counts, result, v.constant(0.0))


def _mantissa(v: Packed, of: _Constants, d: Any, n: Any, narrow: bool = False) -> Any:
    """Return e^r for d = n ln(2) + r, |r| <= ln(2) / 2."""
    terms = coefficients.EXP if v.double else single_coefficients.EXP
    r = v.fma(n, v.constant(-of.ln2[0]), d)
    if narrow:
        r, one = v.fma(n, v.constant(-of.ln2[1]), r), v.constant(1.0)
        square = v.builder.fmul(r, r)
        return v.builder.fadd(one, v.fma(square, v.pairs(r, square, terms), r))
    rest = v.builder.fmul(n, v.constant(-of.ln2[1]))
    t = v.builder.fadd(r, rest)
    square = v.builder.fmul(t, t)
    tail = v.fma(square, v.pairs(t, square, terms), rest)
    return v.builder.fadd(v.constant(1.0), v.builder.fadd(r, tail))


def _reduced(v: Packed, of: _Constants, d: Any, n: Any) -> tuple[Any, Any]:
    """Return r and e^r - 1 - r for d = n ln(2) + r, |r| <= ln(2) / 32."""
    r = v.fma(n, v.constant(-of.ln2[1]), v.fma(n, v.constant(-of.ln2[0]), d))
    square = v.builder.fmul(r, r)
    return r, v.builder.fmul(square, v.pairs(r, square, tabled_coefficients.EXP))


def _by_table(v: Packed, of: _Constants, d: Any, n: Any, shifted: Any) -> Any:
    """Return 2^n e^r, for n a multiple of 1/16. Its fraction is looked up, and its integer is added to the exponent."""
    index = v.bits(shifted)
    r, tail = _reduced(v, of, d, n)
    # sixteenths are shifted into the mantissa: the table's entries are without them
    bits = v.builder.add(v.bits(looked_up(v.builder, SIXTEENTHS, index)), v.builder.shl(index, v.integer(48)))
    scaled, rest = v.number(bits), looked_up(v.builder, POWERS[1], index)
    return v.fma(scaled, v.builder.fadd(r, v.builder.fadd(tail, rest)), scaled)


def exp(v: Packed, x: Any) -> Any:
    """Return e^x of any number."""
    of, tabled = _constants(v.double)
    low, high = (-750.0, 750.0) if v.double else (-104.0, 89.0)
    x = v.builder.select(v.builder.fcmp_ordered(">", v.constant(low), x), v.constant(low), x)
    x = v.builder.select(v.builder.fcmp_ordered("<", v.constant(high), x), v.constant(high), x)
    shift = v.constant(of.shift)
    shifted = v.fma(x, v.constant(of.log2_e), shift)
    n = v.builder.fsub(shifted, shift)
    if tabled:
        index = v.bits(shifted)
        r, tail = _reduced(v, of, x, n)
        p, rest = (looked_up(v.builder, each, index) for each in POWERS)
        p = v.fma(p, v.builder.fadd(r, v.builder.fadd(tail, rest)), p)
    else:
        p = _mantissa(v, of, x, n)
    if has_register_tables():
        return scaled_vector(v.builder, p, n)
    return _by_two_factors(v, of, p, shifted)


def _by_two_factors(v: Packed, of: _Constants, p: Any, shifted: Any) -> Any:
    """Return p 2^n, rounded once: by half of n, and the rest."""
    builder = v.builder
    n = builder.sub(v.bits(shifted), v.integer(int(of.shift.view(np.int64 if v.double else np.int32))))
    most = 4096 if v.double else 512
    half = builder.sub(builder.lshr(builder.add(n, v.integer(most)), v.integer(1)), v.integer(most // 2))
    one = v.integer((1023 if v.double else 127) << of.mantissa)
    for part in (half, builder.sub(n, half)):
        p = builder.fmul(p, v.number(builder.add(builder.shl(part, v.integer(of.mantissa)), one)))
    return p
