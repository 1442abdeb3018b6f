"""The gated activations in float64.

A rounding error in an exponent of several hundred would be an error of several hundred ulps in the result. So an
exponent is a sum of two doubles.
"""

from fractions import Fraction

from ep.common.functor.unary.activation import FAST_GELU_A, FAST_GELU_B, QUICK_GELU_SLOPE
from ep.cpu.vector_math.bits import Ternary, Unary, fma, from_bits, select
from ep.cpu.vector_math.constants import pair
from ep.cpu.vector_math.exponential import exp_reduced
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import at_least, at_most, clamp
from ep.cpu.vector_math.sigmoid import ENOUGH, VANISHED, gated
from ep.cpu.vector_math.sums import sum_of

# at the ends, the argument of the sigmoid is beyond VANISHED and ENOUGH
_SLOPE, _SLOPE_REST = pair(Fraction(repr(QUICK_GELU_SLOPE)))
_QUICK_LOW, _QUICK_HIGH = -450.0, 24.0
_TWO_A, _TWO_A_REST = pair(2 * Fraction(repr(FAST_GELU_A)))
_B, _B_REST = pair(Fraction(repr(FAST_GELU_B)))
_FAST_LOW, _FAST_HIGH = -22.0, 8.0


@inlined
def _product(a: float, a_rest: float, b: float, b_rest: float) -> tuple[float, float]:
    """Return (a + a_rest) (b + b_rest) and its rounding error, to second order."""
    value = fma(a, b, 0.0)
    return value, fma(a, b, -value) + fma(a, b_rest, fma(a_rest, b, 0.0))


def gated_activations(gated: Ternary[float]) -> tuple[Unary[float], Unary[float]]:
    """Return silu and quick_gelu, made from gated(x, z, z_rest), which is x sigmoid(z + z_rest)."""

    @inlined
    def silu(x: float) -> float:
        """Return x sigmoid(x)."""
        x = at_least(x, VANISHED)
        return gated(x, at_most(x, ENOUGH), 0.0)

    @inlined
    def quick_gelu(x: float) -> float:
        """Return x sigmoid(1.702 x)."""
        x = at_least(x, _QUICK_LOW)
        return gated(x, *_product(at_most(x, _QUICK_HIGH), 0.0, _SLOPE, _SLOPE_REST))

    return silu, quick_gelu


silu, quick_gelu = gated_activations(gated)


@inlined
def fast_gelu(x: float) -> float:
    """Return x sigmoid(2 A (x + B x^3))."""
    x = at_least(x, _FAST_LOW)
    y = at_most(x, _FAST_HIGH)
    square, square_rest = _product(y, 0.0, y, 0.0)
    cubic, cubic_rest = _product(square, square_rest, _B, _B_REST)
    factor, factor_rest = sum_of(1.0, cubic)
    z, z_rest = _product(y, 0.0, factor, factor_rest + cubic_rest)
    return gated(x, *_product(z, z_rest, _TWO_A, _TWO_A_REST))


@inlined
def mish(x: float) -> float:
    """Return x tanh(ln(1 + e^x)) = x n / (n + 2), n = e^x (e^x + 2).

    It is x above 40, x e^x = x sigmoid(x) below -40.
    """
    r, s, n = exp_reduced(clamp(x, -40.0, 40.0), 0.0)
    scale = from_bits((n << 52) + (1023 << 52))
    high = 1.0 + r
    low = ((1.0 - high) + r) + s
    power = high + low
    e, e_rest = power * scale, ((high - power) + low) * scale
    more, more_rest = sum_of(2.0, e)
    m, m_rest = _product(e, e_rest, more, more_rest + e_rest)
    below, below_rest = sum_of(2.0, m)
    below_rest += m_rest
    inverse = 1.0 / below
    quotient = fma(m, inverse, 0.0)
    rest = fma(-quotient, below, m) + fma(-quotient, below_rest, m_rest)
    middle = x * fma(rest, inverse, quotient)
    return select(x > 40.0, x, select(x < -40.0, silu(x), middle))
