"""The 16 powers of two whose exponents are multiples of 1/16, and their inverses."""

from typing import Final

import numpy as np

from ep.cpu.vector_math.lookup import table
from ep.cpu.vector_math.tabled.coefficients import INVERSE_POWERS, INVERSE_POWERS_REST, POWERS_OF_TWO, POWERS_REST

POWERS: Final = np.array(POWERS_OF_TWO), np.array(POWERS_REST)
"""The powers, and the relative error of each."""

SIXTEENTHS: Final = (POWERS[0].view(np.int64) - (np.arange(16) << 48)).view(np.float64)
"""The powers, without i/16 in their exponent: adding i << 48 to the bits of entry i gives them."""

power, power_rest = table(POWERS_OF_TWO, np.float64), table(POWERS_REST, np.float64)
inverse_power, inverse_power_rest = table(INVERSE_POWERS, np.float64), table(INVERSE_POWERS_REST, np.float64)
