"""exp, exp2 and expm1 in float64.

x = n ln 2 + r with an integer n and |r| <= ln(2)/2, and e^x = 2^n e^r. With e^r = 1 + r + r^2 q(r), the sum of 1 and
r is kept unrounded as high + low, so that e^r is known to about 2^-56. The functions are free of branches: arguments
out of range are clamped. What counts for the speed of a loop is how long an element takes from the first instruction to
the last, since a core looks ahead only so far: hence polynomials as trees, and n at hand as a number and an integer.
"""

from ep.cpu.vector_math.bits import fabs, fma, from_bits, select, to_bits
from ep.cpu.vector_math.constants import LN2, LN2_SHORT, LOG2_E, SHIFT, SHIFT_BITS
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.scaling import scaled

_ONE, _TWO = 1023 << 52, 1024 << 52  # the bits of 1.0 and 2.0


@inlined
def exp_cubic(r):
    """Return c(r) for |r| <= ln(2)/2, where e^r = 1 + r + r^2/2 + r^3 c(r)/2.

    Remez, in 45 digits, for the least relative error of e^r - 1, 2^-61.7.
    """
    r2 = r * r
    r4 = r2 * r2
    c01 = fma(2 * 0.0416666666666667, r, 2 * 0.16666666666666677)
    c23 = fma(2 * 0.0013888888888866809, r, 2 * 0.008333333333321615)
    c45 = fma(2 * 2.480158736061169e-05, r, 2 * 0.00019841269886158026)
    c67 = fma(2 * 2.755724271317081e-07, r, 2 * 2.7557244182442318e-06)
    c89 = fma(2 * 2.0924457420546924e-09, r, 2 * 2.5109044708301753e-08)
    return fma(fma(fma(c89, r2, c67), r2, c45), r4, fma(c23, r2, c01))


@inlined
def exp_fraction(r):
    """Return q(r) = (e^r - 1 - r) / r^2 for |r| <= ln(2)/2; the coefficients of `exp_cubic`."""
    r2 = r * r
    r4 = r2 * r2
    q01 = fma(0.16666666666666677, r, 0.5)
    q23 = fma(0.008333333333321615, r, 0.0416666666666667)
    q45 = fma(0.00019841269886158026, r, 0.0013888888888866809)
    q67 = fma(2.7557244182442318e-06, r, 2.480158736061169e-05)
    q89 = fma(2.5109044708301753e-08, r, 2.755724271317081e-07)
    q8 = fma(2.0924457420546924e-09, r2, q89)
    return fma(fma(q8, r4, fma(q67, r2, q45)), r4, fma(q23, r2, q01))


@inlined
def exp_reduced(x, x_rest):
    """Return r, s and the integer n for |x| < 1500: e^(x + x_rest) = 2^n (1 + r + s) with r exact and |s| < 0.07."""
    shifted = fma(x, LOG2_E[0], SHIFT)
    n = shifted - SHIFT
    r_high = fma(n, -LN2_SHORT[0], x)
    r_low = fma(n, -LN2_SHORT[1], x_rest)
    r = r_high + r_low
    return r_high, fma(r * r, exp_fraction(r), r_low), to_bits(shifted) - SHIFT_BITS


@inlined
def clamp(x, bound):
    """Return x within [-bound, bound]; NaN stays."""
    x = select(bound < x, bound, x)
    return select(-bound > x, -bound, x)


@inlined
def exp(x):
    """e^x; 0.87 ulp. As exp_reduced, but for a term less: least squares on Chebyshev nodes, 2^-57.8 relative to e^r."""
    x = clamp(x, 750.0)
    shifted = fma(x, LOG2_E[0], SHIFT)
    n = shifted - SHIFT
    r_high = fma(n, -LN2_SHORT[0], x)
    r = fma(n, -LN2_SHORT[1], r_high)
    r2 = r * r
    q01 = fma(0.16666666666666471, r, 0.5000000000000012)
    q23 = fma(0.008333333333458674, r, 0.04166666666651979)
    q45 = fma(0.00019841269581140757, r, 0.001388888894590293)
    q67 = fma(2.755752173876015e-06, r, 2.4801491055365992e-05)
    q89 = fma(2.5020030264438046e-08, r, 2.7630897243082424e-07)
    q = fma(fma(fma(fma(q89, r2, q67), r2, q45), r2, q23), r2, q01)
    # r is rounded, and so good enough only in the small terms
    return scaled(1.0 + (r_high + fma(n, -LN2_SHORT[1], fma(r2, q, 0.0))), to_bits(shifted) - SHIFT_BITS)


@inlined
def exp2(x):
    """2^x: the nearest integer n apart, 1 + r p(r) of the rest r, |r| <= 1/2; p by Remez, in 45 digits."""
    y = clamp(x, 1080.0)
    shifted = y + SHIFT
    r = y - (shifted - SHIFT)
    r2 = r * r
    r4 = r2 * r2
    p12 = fma(0.055504108664821736, r, 0.24022650695910072)
    p34 = fma(0.0013333558146381736, r, 0.009618129107628562)
    p56 = fma(1.525273386484702e-05, r, 0.0001540353039317191)
    p78 = fma(1.0178047530339999e-07, r, 1.321548700333921e-06)
    p9 = fma(2.5855198339497466e-11, r2, fma(4.457239445985489e-10, r, 7.054814864025137e-09))
    p = fma(fma(p9, r4, fma(p78, r2, p56)), r4, fma(p34, r2, p12))
    return scaled(fma(fma(p, r, LN2[0]), r, 1.0), to_bits(shifted) - SHIFT_BITS)


@inlined
def exp_around(x):
    """Return terms of e^x for -50 < x < 711, so that differences of e^x and 1 are sums without cancellation.

    r, h, t, 2^-n, bits of n: e^x = 2^n (1 + r + h + t), r and h are known to the last bit, |h| < 0.061, |t| < 0.008.
    2^-n (e^x + c) is (1 + c 2^-n) + r + h + t: for |c| = 1, the bracket is 0 or at least as large as r.
    """
    shifted = fma(x, LOG2_E[0], SHIFT)
    n = shifted - SHIFT
    r = fma(n, -LN2_SHORT[0], x)
    r_low = n * -LN2_SHORT[1]
    n_bits = to_bits(shifted)
    half = 0.5 * r
    h = fma(half, r, 0.0)
    rest = fma(r, r_low, r_low) + fma(half, r, -h)
    r_sum = r + r_low
    t = fma((0.5 * r_sum) * (r_sum * r_sum), exp_cubic(r_sum), rest)
    # 2^-n as half a power that is a normal number, or 0
    return r, h, t, 0.5 * from_bits(_TWO - (n_bits << 52)), n_bits


@inlined
def sum_of_three(a, b, c):
    """Return the sum as high + low, for terms ordered by size."""
    ab = a + b
    low = ((a - ab) + b) + c
    high = ab + low
    return high, (ab - high) + low


@inlined
def sum_of_four(a, b, c, d):
    """Return the sum as high + low, for terms ordered by size; a may be 0."""
    ab = a + b
    abc = ab + c
    low = (((a - ab) + b) + ((ab - abc) + c)) + d
    high = abc + low
    return high, (abc - high) + low


@inlined
def expm1(x):
    """e^x - 1."""
    r, h, t, power, n_bits = exp_around(select(x < -50.0, -50.0, select(x > 710.0, 710.0, x)))
    one = 1.0 - power
    y, _ = sum_of_four(one, r, h, t + ((1.0 - one) - power))
    large = x > 1.0
    # 2^n of a large x is multiplied in two steps, as 2^1024 is not a float64
    scale = from_bits((n_bits << 52) + select(large, _ONE - (64 << 52), _ONE))
    return select(fabs(x) < 2.0**-54, x, (y * scale) * select(large, 2.0**64, 1.0))
