"""Constants, written by `python -m tools.constants`.

Of a polynomial: the coefficients, the constant one first; what it is, and how large its error is at most.
"""

from typing import Final

# (1 - e)^(-1/2) for 0.007 <= e <= 0.126; error 2^-15.6 of itself.
RSQRT: Final = (1.000044822692871, 0.4960203170776367, 0.4466656446456909)
