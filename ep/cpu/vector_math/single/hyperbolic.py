"""tanh, sinh and cosh in float32 arithmetic."""

import numpy as np

from ep.cpu.vector_math.bits import copysign, fabs, fma, from_bits, select, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.single.exponential import LN2, LN2_REST, LOG2_E, SHIFT, ZERO, power_of_2

_ONE, _TWO, _ENOUGH = np.float32(1.0), np.float32(2.0), np.float32(10.0)
_TWO_LOG2_E, _HALF_LN2 = np.float32(2.8853900817779268), np.float32(0.34657359027997264)
_SMALL = np.float32(0.955)

_LARGEST, _TINY = np.float32(89.5), np.float32(2.0**-13)  # sinh and cosh of the first overflow; sinh(x) is x below
_QUARTER_BITS, _NO_BITS = np.int32(125 << 23), np.int32(0)


@inlined
def _tanh_small(a):
    """tanh for |a| < 0.96."""
    z = fma(a, a, ZERO)
    s = fma(z, z, ZERO)
    q = fma(
        fma(-0.00039591494714841247, z, 0.002417415613308549), s, fma(-0.008086091838777065, z, 0.02156933583319187)
    )
    q = fma(fma(fma(q, z, -0.05390436574816704), z, 0.13332678377628326), z, -0.3333331048488617)
    return fma(fma(q, z, ZERO), a, a)


@inlined
def _tanh_large(a):
    """1 - 2 / (e^2a + 1), whose rounding errors shrink as a grows."""
    a = select(a > _ENOUGH, _ENOUGH, a)
    shifted = fma(a, _TWO_LOG2_E, SHIFT)
    r = fma(shifted - SHIFT, -_HALF_LN2, a)
    r2 = fma(r, r, ZERO)
    # (e^2r - 1) / r
    p = fma(0.0885632187128067, r2, fma(0.2678132951259613, r, 0.6666896343231201))
    p = fma(p, r2, fma(1.3333213329315186, r, 1.999999761581421))
    power = power_of_2(np.int32(to_bits(shifted) << 23))
    sum_ = fma(fma(fma(p, r, _TWO), r, ZERO), power, power + _ONE)
    return fma(-_TWO, _ONE / sum_, _ONE)


@inlined
def tanh(x):
    """The hyperbolic tangent."""
    a = fabs(x)
    return copysign(select(a < _SMALL, _tanh_small(a), _tanh_large(a)), x)


@inlined
def _parts(x):
    """Return p, p_rest, m, r, s and c: cosh x / 2 = p (1 + c) + m (r + s) and |sinh x| / 2 = m (1 + c) + p (r + s).

    With |x| = n ln(2) + r + r_rest: p + p_rest and m are the sum and the difference of 2^(n - 2) and 2^(-n - 2), so
    that m is 0 for small x; cosh of the reduced argument is 1 + c, and sinh r + s. Polynomials by Remez' exchange with
    coefficients rounded to float32, errors 2^-33 of cosh and sinh.
    """
    a = fabs(x)
    a = select(a > _LARGEST, _LARGEST, a)
    shifted = fma(a, LOG2_E, SHIFT)
    n = shifted - SHIFT
    r = fma(n, -LN2, a)
    r_rest = fma(n, -LN2_REST, ZERO)
    t = r + r_rest
    z = fma(t, t, ZERO)
    c = fma(fma(0.0013935841852799058, z, 0.04166645556688309), z, 0.5)
    s = fma(fma(0.0001997301005758345, z, 0.008333176374435425), z, 0.1666666716337204)
    n_bits = np.int32(to_bits(shifted) << 23)
    below = np.int32(_QUARTER_BITS - n_bits)
    up, down = from_bits(np.int32(_QUARTER_BITS + n_bits)), from_bits(select(below < _NO_BITS, _NO_BITS, below))
    p = up + down
    return p, down - (p - up), up - down, r, fma(fma(t, z, ZERO), s, r_rest), fma(z, c, ZERO)


@inlined
def sinh(x):
    """The hyperbolic sine; p r + m is kept with its rounding error."""
    p, _, m, r, s, c = _parts(x)
    high = fma(p, r, m)
    low = fma(p, r, m - high) + fma(p, s, fma(m, c, ZERO))
    return select(fabs(x) < _TINY, x, copysign((high + low) * _TWO, x))


@inlined
def cosh(x):
    """The hyperbolic cosine."""
    p, p_rest, m, r, s, c = _parts(x)
    return (p + fma(p, c, fma(m, r + s, p_rest))) * _TWO
