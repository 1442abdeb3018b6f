"""The functions of exp and log for arguments that are float32 values and results that will be rounded to float32.

Everything is computed in float64, where no such argument is subnormal, no intermediate result overflows or
underflows, and rounding errors do not count; the polynomials, by Remez in 45 digits, have relative errors of 2^-28 or
less, 1/16 of the last rounding. A NaN that comes from float32 has zeros in the low bits of its payload, so that the
shifts and sums of bits below leave it a NaN.
"""

from ep.cpu.vector_math.bits import both, copysign, either, fabs, fma, from_bits, select, shift_right, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.power import log_limits, pow_sign

_SHIFT = 6755399441055744.0  # 1.5 * 2^52: adding it leaves the nearest integer in the low bits of the sum
_LOG2_E, _LN2 = 1.4426950408889634, 0.6931471805599453
_ONE = 1023 << 52  # the bits of 1.0
_SQRT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
_MANTISSA = (1 << 52) - 1
_INF, _NAN = float("inf"), float("nan")


@inlined
def _clamp(x, low, high):
    x = select(high < x, high, x)
    return select(low > x, low, x)


@inlined
def exp_unbounded(x):
    """e^x for |x| < 700."""
    shifted = fma(x, _LOG2_E, _SHIFT)
    r = fma(shifted - _SHIFT, -_LN2, x)
    r2 = r * r
    p = fma(fma(0.0013926094194642142, r, 0.008375659522304131), r2, fma(0.04166653338965754, r, 0.1666640909609344))
    p = fma(p, r2, fma(0.5000000006362431, r, 1.000000039168162))
    return from_bits(to_bits(fma(p, r, 1.0)) + (to_bits(shifted) << 52))


@inlined
def exp(x):
    """e^x."""
    return exp_unbounded(_clamp(x, -690.0, 690.0))


@inlined
def exp2(x):
    """2^x."""
    return exp2_unbounded(_clamp(x, -1000.0, 1000.0))


@inlined
def _to_the_ends(x, power):
    """e^x or 2^x, 0 from where on every product with it is, and infinity at infinity: 0 times it is NaN."""
    return select(x < -690.0, 0.0, select(x < _INF, power, x))


@inlined
def exp_product(dy, c, x):
    """dy c e^x, which is a float32 number only where e^x is a number here."""
    return dy * (c * _to_the_ends(x, exp(x)))


@inlined
def exp2_product(dy, c, x):
    """dy c 2^x."""
    return dy * (c * _to_the_ends(x, exp2(x)))


@inlined
def exp2_unbounded(x):
    """2^x for |x| < 1000."""
    shifted = x + _SHIFT
    r = x - (shifted - _SHIFT)
    r2 = r * r
    p = fma(
        fma(0.00015594720992838333, r, 0.0013406659344600148), r2, fma(0.009617692788148042, r, 0.05550310508748865)
    )
    p = fma(p, r2, fma(0.24022652784186488, r, 0.6931472149897716))
    return from_bits(to_bits(fma(p, r, 1.0)) + (to_bits(shifted) << 52))


@inlined
def _split(x):
    """Return k and f, with x = 2^k (1 + f), for x > 0."""
    bits = to_bits(x) + (_ONE - _SQRT_HALF)
    k = from_bits(shift_right(bits, 52) | 0x4330000000000000) - (2.0**52 + 1023.0)
    return k, from_bits((bits & _MANTISSA) + _SQRT_HALF) - 1.0


@inlined
def _with_limits(x, y):
    y = select(x > 0.0, y, select(x == 0.0, -_INF, _NAN))
    return select(x == _INF, x, y)


@inlined
def _log_fraction(f):
    """Return ln(1 + f) / f."""
    f2 = f * f
    f4 = f2 * f2
    p01 = fma(-0.4999999966837389, f, 1.000000000633438)
    p23 = fma(-0.2500002684710444, f, 0.33333301514463565)
    p45 = fma(-0.16667927747188532, f, 0.20002581647525888)
    p67 = fma(-0.12400737962718252, f, 0.1421242642876248)
    p89 = fma(fma(0.06727036595541763, f, -0.11720498415469197), f, 0.11926603554421294)
    return fma(fma(p89, f4, fma(p67, f2, p45)), f4, fma(p23, f2, p01))


@inlined
def log_positive(x):
    """The natural logarithm of a finite x > 0."""
    k, f = _split(x)
    return fma(k, _LN2, f * _log_fraction(f))


@inlined
def log(x):
    """The natural logarithm."""
    return _with_limits(x, log_positive(x))


@inlined
def log1p_positive(x):
    """ln(1 + x) for finite x > -1: 1 + x is exact but for small x, where x is the result, and for huge x."""
    return select(fabs(x) < 2.0**-28, x, log_positive(1.0 + x))


@inlined
def _log2(x):
    """The logarithm to base 2 of a finite x > 0, to 2^-37."""
    k, f = _split(x)
    s = f / (2.0 + f)
    z = s * s
    z2 = z * z
    # 2 atanh(s) / (s ln 2), relative error 2^-37.8
    p = fma(0.34073221398906445, z2, fma(0.4116726102083309, z, 0.5770835866851067))
    p = fma(p, z2, fma(0.9617966733333337, z, 2.8853900817900926))
    return fma(s, p, k)


@inlined
def _exp2_product(y, log2):
    """2^(y log2)."""
    # the bound of y keeps 0 * y from being NaN
    product = _clamp(y, -(2.0**130), 2.0**130) * log2
    power = exp2_unbounded(_clamp(product, -1000.0, 1000.0))
    # 0 and infinity themselves, lest a product of the two be a number
    limit = either(fabs(y) == _INF, product == _INF)
    return select(product < -1000.0, 0.0, select(both(limit, product > 0.0), _INF, power))


@inlined
def pow(x, y):
    """x^y by the rules of C."""
    a = fabs(x)
    return pow_sign(x, y, _exp2_product(y, log_limits(a, _log2(a))))


@inlined
def _hyperbolic(a):
    """Return p, m, s and c for 0 <= a < 700: cosh a = p c + m s and sinh a = m c + p s, where m is 0 for small a.

    With a = n ln 2 + r: s = sinh r, c = cosh r, p = (2^n + 2^-n) / 2, m = (2^n - 2^-n) / 2.
    """
    shifted = fma(a, _LOG2_E, _SHIFT)
    r = fma(shifted - _SHIFT, -_LN2, a)
    z = r * r
    z2 = z * z
    s = r * fma(
        fma(0.00019907586695145865, z, 0.008333283511370458), z2, fma(0.1666666678641417, z, 0.9999999999955428)
    )
    c = fma(fma(0.0013948594802962154, z, 0.04166621805830282), z2, fma(0.5000000107830993, z, 0.9999999999598608))
    n_bits = to_bits(shifted) << 52
    up, down = from_bits((1022 << 52) + n_bits), from_bits((1022 << 52) - n_bits)
    return up + down, up - down, s, c


@inlined
def sinh(x):
    """The hyperbolic sine."""
    a = fabs(x)
    p, m, s, c = _hyperbolic(select(a > 690.0, 690.0, a))
    return copysign(fma(m, c, p * s), x)


@inlined
def cosh(x):
    """The hyperbolic cosine."""
    a = fabs(x)
    p, m, s, c = _hyperbolic(select(a > 690.0, 690.0, a))
    return fma(p, c, m * s)


@inlined
def softplus(x):
    """ln(1 + e^x), which is x where x is large."""
    return select(x < 40.0, log1p_positive(exp_unbounded(_clamp(x, -690.0, 40.0))), x)


@inlined
def soft_plus(x, beta, threshold):
    """x where beta x > threshold, else ln(1 + e^(beta x)) / beta; the product of float32 numbers is exact."""
    z = beta * x
    return select(z > threshold, x, softplus(z) / beta)
