"""tanh in float32 arithmetic."""

import numpy as np

from ep.cpu.kernels.vector_math.bits import copysign, fabs, fma, select, to_bits
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.single.exponential import SHIFT, ZERO, power_of_2

_ONE, _TWO, _ENOUGH = np.float32(1.0), np.float32(2.0), np.float32(10.0)
_TWO_LOG2_E, _HALF_LN2 = np.float32(2.8853900817779268), np.float32(0.34657359027997264)
_SMALL = np.float32(0.955)


@inlined
def _tanh_small(a):  # type: ignore[no-untyped-def]
    """tanh for |a| < 0.96."""
    z = fma(a, a, ZERO)
    s = fma(z, z, ZERO)
    q = fma(
        fma(-0.00039591494714841247, z, 0.002417415613308549), s, fma(-0.008086091838777065, z, 0.02156933583319187)
    )
    q = fma(fma(fma(q, z, -0.05390436574816704), z, 0.13332678377628326), z, -0.3333331048488617)
    return fma(fma(q, z, ZERO), a, a)


@inlined
def _tanh_large(a):  # type: ignore[no-untyped-def]
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
def tanh(x):  # type: ignore[no-untyped-def]
    """The hyperbolic tangent."""
    a = fabs(x)
    return copysign(select(a < _SMALL, _tanh_small(a), _tanh_large(a)), x)
