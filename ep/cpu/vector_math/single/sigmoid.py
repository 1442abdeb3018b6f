"""sigmoid in float32 arithmetic, and x sigmoid(z), from which the gated activations are made."""

import numpy as np

from ep.cpu.vector_math.bits import fma, from_bits, select, to_bits
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import clamp
from ep.cpu.vector_math.single.exponential import ZERO, exp_tail, reduced

ENOUGH, VANISHED = np.float32(20.0), np.float32(-114.0)  # beyond these sigmoid is 1 and 0, also times a number like z
ONE, DOWN, UP_BITS = np.float32(1.0), np.float32(2.0**-64), np.int32((127 + 64) << 23)

_SMALL = np.float32(-60.0)


@inlined
def small_unit(z: np.float32) -> np.float32:
    """Return 1, or 2^-64 if z is so small that e^-z would overflow; it is then negligible in their sum."""
    return select(z < _SMALL, DOWN, ONE)


@inlined
def _terms(z: np.float32, z_rest: np.float32) -> tuple[np.float32, np.float32, np.float32, np.float32, np.float32]:
    """Return rest, power, one, one_rest and unit: 1 + e^-(z + z_rest) = (rest power + one + one_rest) / unit.

    one_rest is 0 unless unit and power are too far apart for an exact sum.
    """
    r, r_rest, n_bits = reduced(-z, -z_rest)
    unit = small_unit(z)
    power = from_bits(np.int32(n_bits + to_bits(unit)))
    one = power + unit
    return r + exp_tail(r, r_rest), power, one, unit - (one - power), unit


@inlined
def sigmoid(x: np.float32) -> np.float32:
    """Return 1 / (1 + e^-x). The rounding errors of the sum and of the quotient are corrected."""
    rest, power, one, one_rest, unit = _terms(clamp(x, VANISHED, ENOUGH), ZERO)
    sum_ = fma(rest, power, one)
    sum_rest = fma(rest, power, one - sum_) + one_rest
    inverse = ONE / sum_
    # 1 - inverse (sum + sum_rest)
    missing = fma(-inverse, sum_rest, fma(-inverse, sum_, ONE))
    return fma(missing, inverse, inverse) * unit


@inlined
def gated(x: np.float32, z: np.float32, z_rest: np.float32) -> np.float32:
    """Return x sigmoid(z + z_rest) for VANISHED <= z <= ENOUGH."""
    rest, power, one, one_rest, unit = _terms(z, z_rest)
    return (x / (one + fma(rest, power, one_rest))) * unit
