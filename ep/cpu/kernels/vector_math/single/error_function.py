"""erf, erfc and gelu in float32 arithmetic.

The polynomials are by Remez' exchange, with coefficients rounded to float32.
"""

import numpy as np

from ep.cpu.kernels.vector_math.bits import copysign, fabs, fma, select
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.single.piecewise import piecewise

_ONE = np.float32(1.0)

_ERF_CUT, _ERF_END = np.float32(1.09375), np.float32(4.0)
_ERF_SMALL_CENTRE, _ERF_LARGE_CENTRE = np.float32(0.4375), np.float32(2.5)
_erf_pieces = piecewise(
    # erf(x) / x - 1 in x^2 - 7/16 for x <= 35/32, relative error 2^-27.4
    (
        -0.016649533063173294,
        -0.291216105222702,
        0.08292090147733688,
        -0.019176583737134933,
        0.003663629060611129,
        -0.0005921990959905088,
        7.229592301882803e-05,
    ),
    # erfc(x) in x - 5/2 for x <= 4, absolute error 2^-27.3
    (
        0.00040695021743886173,
        -0.00217822496779263,
        0.005445807706564665,
        -0.008351159282028675,
        0.00862155482172966,
        -0.006111692637205124,
        0.002800960559397936,
        -0.0005557282129302621,
        -0.00026392238214612007,
        0.00026661326410248876,
        -7.707925396971405e-05,
        -1.610869549040217e-05,
        1.4187600754667073e-05,
        -7.591618214064511e-07,
        -6.624388788623037e-07,
    ),
)


@inlined
def erf(x):  # type: ignore[no-untyped-def]
    """The error function; 1 from 4 on."""
    a = fabs(x)
    a = select(a > _ERF_END, _ERF_END, a)
    small = a < _ERF_CUT
    p = _erf_pieces(small, select(small, fma(a, a, -_ERF_SMALL_CENTRE), a - _ERF_LARGE_CENTRE))
    return copysign(select(small, fma(a, p, a), _ONE - p), x)
