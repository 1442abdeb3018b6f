"""The constants of the functors of all devices: `ep/common/functor/coefficients.py`."""

from __future__ import annotations

from typing import Any, Final

import mpmath
import numpy as np
from mpmath import mp, mpf

from tools.constants.double import DIGAMMA_ROOT
from tools.constants.fit import DIGITS, Polynomial, Rational
from tools.constants.parts import Parts, nearest, parts

mp.dps = DIGITS

_ROOT = parts("", DIGAMMA_ROOT, 2, np.float32).numbers


def _digamma(t: Any) -> Any:
    return mpmath.psi(0, 1 + t) / (1 + t - DIGAMMA_ROOT)


COMMON: Final[dict[str, Polynomial | Rational | Parts]] = {
    "DIGAMMA_ROOT": Parts(
        "The root of psi above 0 as the sum of 3 numbers, the first two of 24 bits.",
        (*_ROOT, nearest(DIGAMMA_ROOT - mpmath.fsum(_ROOT))),
    ),
    "DIGAMMA": Rational(
        "psi(1 + t) / (1 + t - DIGAMMA_ROOT), 0 <= t <= 1",
        "itself",
        *(_digamma, mpf(0), mpf(1), 6, 7, lambda t: 1 / _digamma(t)),
    ),
    "EULER_MACLAURIN": Parts(
        "Bernoulli's numbers B(2 k) over (2 k)! from k = 1 on.",
        tuple(nearest(mpmath.bernoulli(2 * k) / mpmath.factorial(2 * k)) for k in range(1, 13)),
    ),
}
