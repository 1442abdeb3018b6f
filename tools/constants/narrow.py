"""The constants of 16-bit activations on CUDA: `ep/cuda/compile/coefficients.py`."""

from __future__ import annotations

from typing import Any, Final

import mpmath
import numpy as np
from mpmath import mp, mpf

from tools.constants.fit import DIGITS, Polynomial, Rational
from tools.constants.parts import Parts

mp.dps = DIGITS

_SLOPE, _END = mpf("0.25"), 15


def _tail(t: Any) -> Any:
    a = (1 / t - 1) / _SLOPE
    return mpmath.log(mpmath.erfc(a / mpmath.sqrt(2)) / 2 * mpmath.exp(a * a / 2) / t, 2)


NARROW: Final[dict[str, Polynomial | Rational | Parts]] = {
    "GELU_SLOPE": Parts("The slope of 1 / t in a below.", float(_SLOPE)),
    "GELU_TAIL": Polynomial(
        "log2(Q(a) e^(a^2 / 2) / t) for t = 1 / (1 + a / 4), 0 <= a <= 15, where Q is the share of the normal "
        "distribution above a",
        "1, which is absolute",
        *(_tail, 1 / (1 + _SLOPE * _END), mpf(1), 7, lambda t: mpf(1)),
        real=np.float32,
    ),
}
