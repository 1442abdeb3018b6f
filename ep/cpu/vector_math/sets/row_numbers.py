"""The numbers of a row that its exponentials are computed by, and the factor that is common to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.common.functor.math_library import Scalar
from ep.cpu.compile.jit import jit
from ep.cpu.vector_math import constants, exponential
from ep.cpu.vector_math.bits import both, fabs, fma, select
from ep.cpu.vector_math.sets.packed_exponential import HEADROOM, constants_of
from ep.cpu.vector_math.sums import sum_of_ordered


def row_numbers(T: type[np.floating]) -> Any:
    """Return a function numbers(largest) -> (c, shift, lowest), which `power` takes.

    If largest is not finite, lowest is infinite.
    """
    of, _ = constants_of(T is np.float64)
    zero, infinity, ln2 = T(0), T(np.inf), T(of.ln2[0])
    log2_e, whole, shift, headroom, most, least = (
        of.log2_e, of.integer_shift, of.shift, T(HEADROOM), of.largest_small, of.least,
    )  # fmt: skip

    @jit
    def numbers(largest: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        size = fabs(largest)
        finite = size < infinity
        c = select(both(finite, size > most), largest, zero)
        k = fma(select(finite, largest - c, zero), log2_e, whole) - whole
        return c, shift - (k - headroom), select(finite, (k - least) * ln2, infinity)

    return numbers


def row_factor(T: type[np.floating]) -> Any:
    """Return a function factor(largest, c, shift): results of `power` times this factor are e^(x - largest).

    The factor is high + low, in float64.
    """
    of, _ = constants_of(T is np.float64)
    of_shift, headroom, (ln2, ln2_rest), scale = float(of.shift), HEADROOM, constants.LN2_SHORT, 2.0**-HEADROOM
    fraction = exponential.exp_fraction

    @jit
    def factor(largest: Scalar, c: Scalar, shift: Scalar) -> tuple[float, float]:
        k = (of_shift - np.float64(shift)) + headroom
        r = fma(k, ln2, np.float64(c) - np.float64(largest))  # exact, and not above ln(2) / 2
        rest = k * ln2_rest
        t = r + rest
        one, lost = sum_of_ordered(1.0, r)
        high, low = sum_of_ordered(one, fma(t * t, fraction(t), lost + rest))
        return high * scale, low * scale

    return factor
