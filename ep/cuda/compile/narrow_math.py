"""Activations with results of 16 bits: approximate instructions of the hardware whose errors vanish in the rounding.

Operands have 16 bits too, so their squares are exact in float32. Exponentials are scaled by 2^16, and their factors by
2^-16: so they are normal numbers even if the result is a subnormal number of bfloat16.
"""

from __future__ import annotations

import math
from typing import Final

from ep.common.functor import stable
from ep.common.functor.math_library import Function, Maker, MathLibrary, Scalar
from ep.common.functor.unary import activation
from ep.cuda.compile.coefficients import GELU_SLOPE, GELU_TAIL
from ep.cuda.compile.numba_cuda import float_instruction

_EX2, _RCP = float_instruction("ex2.approx.ftz.f32"), float_instruction("rcp.approx.ftz.f32")
_LIFT: Final = 16
"""The power of two of the scale."""
_VANISHED: Final = 16.0
"""Below minus this number, results are 0 in all 16-bit types."""


def gelu(m: MathLibrary) -> Function:
    """max(x, 0) - |x| Q(|x|), where Q, the share of the normal distribution above, is t 2^(P(t) - x^2 / (2 ln 2))."""
    zero, one, limit, slope, scale = m.T(0), m.T(1), m.T(_VANISHED), m.T(GELU_SLOPE), m.T(2.0**-_LIFT)
    half = m.T(-0.5 / math.log(2))
    c0, c1, c2, c3, c4, c5, c6 = map(m.T, (GELU_TAIL[0] + _LIFT, *GELU_TAIL[1:]))

    def f(x: Scalar) -> Scalar:
        a = limit if abs(x) > limit else abs(x)
        t = _RCP(one + slope * a)
        polynomial = (((((c6 * t + c5) * t + c4) * t + c3) * t + c2) * t + c1) * t + c0
        share = _EX2(half * (a * a) + polynomial) * t
        return (zero if x < zero else x) - (a * scale) * share

    return f


def fast_gelu(m: MathLibrary) -> Function:
    """x / (1 + 2^-s) for s = 2 A (x + B x^3) / ln 2."""
    limit, scale, lift = m.T(-_VANISHED), m.T(2.0**-_LIFT), m.T(-_LIFT)
    linear = m.T(-2 * activation.FAST_GELU_A / math.log(2))
    cubic = m.T(-2 * activation.FAST_GELU_A * activation.FAST_GELU_B / math.log(2))

    def f(x: Scalar) -> Scalar:
        y = limit if x < limit else x
        e = _EX2(y * (cubic * (y * y) + linear) + lift)
        return (y * scale) * _RCP(scale + e)

    return f


def gate(m: MathLibrary) -> Function:
    """Return the function of `stable.gate`, with the reciprocal of a number between 1 and 2."""
    one, lift = m.T(1), m.use(stable.lifted)

    def f(x: Scalar, e: Scalar, factor: Scalar, right: Scalar) -> Scalar:
        y = lift(x)
        return (y if right else (y * factor) * e) * _RCP(one + e * factor)

    return f


NARROW_OVERRIDES: Final[dict[Maker, Maker]] = {
    activation.gelu: gelu,
    activation.fast_gelu: fast_gelu,
    stable.gate: gate,
}
"""The makers of common functors that are overridden here."""
