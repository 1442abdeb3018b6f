"""log, log2, log10 and log1p in float64.

x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), and with s = f / (2 + f)

    ln(1 + f) = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + s^2 R(s^2))),

where f is exact and the bracket small, as in Sun's fdlibm. k times the logarithm of 2, f and the bracket are summed
from the largest to the smallest, with the rounding error of the first sum kept.
"""

from ep.cpu.vector_math.bits import fabs, fma, from_bits, select, shift_right, to_bits
from ep.cpu.vector_math.coefficients import LOG
from ep.cpu.vector_math.constants import LN2_SHORT, LOG2_E, LOG10_2_SHORT, LOG10_E
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.polynomial import polynomial_pairs
from ep.cpu.vector_math.sums import sum_of

_ONE = 1023 << 52  # the bits of 1.0
_SQRT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
_MANTISSA = (1 << 52) - 1
_SMALLEST_NORMAL = 2.0**-1022
_INF, _NAN = float("inf"), float("nan")
_log_product = polynomial_pairs(*LOG)


@inlined
def split(x: float) -> tuple[int, float]:
    """Return k + 1023 as the upper 12 bits of an integer, and 1 + f, for normal x > 0."""
    bits = to_bits(x) + (_ONE - _SQRT_HALF)
    return bits, from_bits((bits & _MANTISSA) + _SQRT_HALF)


@inlined
def exponent(bits: int, bias: float) -> float:
    """Return the upper 12 bits of a positive integer, less `bias`, as a float64."""
    return from_bits(shift_right(bits, 52) | 0x4330000000000000) - (2.0**52 + bias)


@inlined
def split_any(x: float) -> tuple[float, float]:
    """Return k and f for any finite x > 0."""
    subnormal = x < _SMALLEST_NORMAL
    bits, mantissa = split(select(subnormal, x * 2.0**54, x))
    k = from_bits(shift_right(bits, 52) | 0x4330000000000000)
    return k - select(subnormal, 2.0**52 + 1077.0, 2.0**52 + 1023.0), mantissa - 1.0


@inlined
def log_rest(f: float) -> float:
    """Return ln(1 + f) - f for 1 + f between sqrt(1/2) and sqrt(2)."""
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f
    return fma(-half, f, s * fma(half, f, z * _log_product(z)))


@inlined
def with_limits(x: float, y: float) -> float:
    """Return y, the logarithm of x, if x is finite and above 0; else that of 0, infinity, NaN or a negative x."""
    y = select(x > 0.0, y, select(x == 0.0, -_INF, _NAN))
    return select(x == _INF, x, y)


@inlined
def log(x: float) -> float:
    """Return the natural logarithm."""
    k, f = split_any(x)
    exact = k * LN2_SHORT[0]
    high = exact + f
    low = (exact - high) + f
    return with_limits(x, high + (low + fma(k, LN2_SHORT[1], log_rest(f))))


@inlined
def log2(x: float) -> float:
    """Return the logarithm to base 2: as log, with f log2(e) in twice the precision."""
    k, f = split_any(x)
    first = f * LOG2_E[0]
    error = fma(f, LOG2_E[1], fma(f, LOG2_E[0], -first))
    high = k + first
    low = (k - high) + first
    return with_limits(x, high + (low + fma(log_rest(f), LOG2_E[0], error)))


@inlined
def log10(x: float) -> float:
    """Return the logarithm to base 10: as log2."""
    k, f = split_any(x)
    exact, first = k * LOG10_2_SHORT[0], fma(f, LOG10_E[0], 0.0)
    error = fma(k, LOG10_2_SHORT[1], fma(f, LOG10_E[1], fma(f, LOG10_E[0], -first)))
    high = exact + first
    low = (exact - high) + first
    return with_limits(x, high + (low + fma(log_rest(f), LOG10_E[0], error)))


@inlined
def log_sum_parts(u: float, low: float, k_offset: float) -> tuple[float, float]:
    """Return ln(2^k_offset (u + low)) as a number and a small rest, for normal u > 0 with |low| below its last bit."""
    bits, mantissa = split(u)
    k = exponent(bits, 1023.0)
    # f = mantissa - 1 + 2^-k low; 2^(1-k) is a normal number, or 0
    near = mantissa - 1.0
    rest = (0.5 * low) * from_bits((2047 << 52) - (bits & ~_MANTISSA))
    f = near + rest
    rest = (near - f) + rest
    k += k_offset
    exact = k * LN2_SHORT[0]
    high = exact + f
    low = (exact - high) + f
    # d ln(1 + f) = rest / (1 + f); rest matters only if k != 0, and then 1 - f is accurate enough
    return high, low + (fma(k, LN2_SHORT[1], fma(rest, -f, rest)) + log_rest(f))


@inlined
def log_sum(u: float, low: float, k_offset: float) -> float:
    """Return ln(2^k_offset (u + low)) for a normal u > 0 with |low| below its last bit."""
    high, rest = log_sum_parts(u, low, k_offset)
    return high + rest


@inlined
def log1p(x: float) -> float:
    """Return ln(1 + x), including the rounding error of 1 + x."""
    u = 1.0 + x
    part = u - 1.0
    y = log_sum(u, (1.0 - (u - part)) + (x - part), 0.0)
    return select(fabs(x) < 2.0**-54, x, with_limits(u, y))


@inlined
def log1p_parts(x: float, low: float) -> tuple[float, float]:
    """Return ln(1 + x + low) as a number and a small rest, for finite x >= 0 with |low| below its last bit."""
    u, lost = sum_of(1.0, x)
    # low is far below the last bit of u, or u is 1 and the lost part is x
    return log_sum_parts(u, lost + low, 0.0)
