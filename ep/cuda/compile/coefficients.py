"""Constants, written by `python -m tools.constants`.

Of a polynomial: the coefficients, the constant one first; what it is, and how large its error is at most.
"""

from typing import Final

# The slope of 1 / t in a below.
GELU_SLOPE: Final = 0.25
# log2(Q(a) e^(a^2 / 2) / t) for t = 1 / (1 + a / 4), 0 <= a <= 15, where Q is the share of the normal distribution
# above a; error 2^-17.4 of 1, which is absolute.
GELU_TAIL: Final = (
    -3.3222708702087402,
    1.3893719911575317,
    0.9597546458244324,
    -0.7435562014579773,
    1.9095221757888794,
    -1.6018476486206055,
    0.40902024507522583,
)
