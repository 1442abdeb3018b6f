"""pow in float64, by the rules of C."""

from ep.cpu.vector_math.bits import both, either, fabs, fma, from_bits, rint, select, to_bits
from ep.cpu.vector_math.coefficients import LOG2_PRODUCT
from ep.cpu.vector_math.constants import LN2, SHIFT, SHIFT_BITS, ln, pair
from ep.cpu.vector_math.exponential import exp_fraction
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import clamp
from ep.cpu.vector_math.logarithm import split_any
from ep.cpu.vector_math.polynomial import polynomial_pairs
from ep.cpu.vector_math.scaling import scaled

_INF, _NAN = float("inf"), float("nan")
_SIGN = -(2**63)
_TWO, _THIRD = pair(2 / ln(2)), pair(2 / (3 * ln(2)))
_log2_product = polynomial_pairs(*LOG2_PRODUCT)


@inlined
def pow_sign(x: float, y: float, magnitude: float) -> float:
    """Return x^y, given |x|^y, except for the arguments whose result is 1 or NaN by a rule of its own."""
    half = 0.5 * y
    whole = rint(y) == y
    odd = both(whole, rint(half) != half)
    p = from_bits(to_bits(magnitude) ^ (select(odd, to_bits(x), 0) & _SIGN))
    p = select(both(both(x < 0.0, x > -_INF), rint(y) != y), _NAN, p)
    return select(either(x == 1.0, y == 0.0), 1.0, p)


@inlined
def _log2_sum(a: float) -> tuple[float, float]:
    """Return log2(a) as high + low for finite a > 0, with a relative error of about 2^-65.

    With s = f / (2 + f) in twice the precision, ln(1 + f) = s (2 + 2/3 z + z^2 R(z)), z = s^2, of which all but the
    last term is computed in twice the precision; the sum is multiplied by 1 / ln 2.
    """
    k, f = split_any(a)
    b = 2.0 + f
    inverse = 1.0 / b
    s = f * inverse
    s_low = fma(-s, (2.0 - b) + f, fma(-s, b, f)) * inverse
    z = fma(s, s, 0.0)
    z_low = fma(s + s, s_low, fma(s, s, -z))
    square = z * z
    t = fma(z, _THIRD[0], 0.0)
    t_low = fma(square, _log2_product(z), fma(z_low, _THIRD[0], fma(z, _THIRD[1], fma(z, _THIRD[0], -t))))
    v = _TWO[0] + t
    v_low = ((_TWO[0] - v) + t) + (t_low + _TWO[1])
    m = fma(s, v, 0.0)
    m_low = fma(s, v, -m) + fma(s, v_low, s_low * v)
    high = k + m
    low = ((k - high) + m) + m_low
    total = high + low
    return total, (high - total) + low


@inlined
def _exp2_product(y: float, high: float, low: float) -> float:
    """Return 2^(y (high + low))."""
    # such a large y gives 0, 1 or infinity anyway, and its product with a finite logarithm stays finite
    b = clamp(y, -(2.0**70), 2.0**70)
    product = fma(high, b, 0.0)
    rest = fma(low, b, fma(high, b, -product))
    rest = select(fabs(product) < 1080.0, rest, 0.0)
    product = clamp(product, -1080.0, 1080.0)
    shifted = product + SHIFT
    near = product - (shifted - SHIFT)
    f = near + rest
    f_low = (near - f) + rest
    r = fma(f, LN2[0], 0.0)
    r_low = fma(f_low, LN2[0], fma(f, LN2[1], fma(f, LN2[0], -r)))
    one = 1.0 + r
    tail = fma(r * r, exp_fraction(r), fma(r, r_low, r_low))
    return scaled(one + (((1.0 - one) + r) + tail), to_bits(shifted) - SHIFT_BITS)


@inlined
def pow(x: float, y: float) -> float:
    """Return x^y."""
    a = fabs(x)
    high, low = _log2_sum(a)
    high = select(a == 0.0, -_INF, select(a < _INF, high, a))
    return pow_sign(x, y, _exp2_product(y, high, low))


@inlined
def pow_of_positive(x: float, y: float) -> float:
    """Return x^y for finite x > 0 and any y except NaN."""
    high, low = _log2_sum(x)
    return _exp2_product(y, high, low)
