"""Constants, written by `python -m tools.constants`.

Of a polynomial: the coefficients, the constant one first; what it is, and how large its error is at most.
"""

from typing import Final

# The root of psi above 0 as the sum of 3 numbers, the first two of 24 bits.
DIGAMMA_ROOT: Final = (1.4616321325302124, 1.243815006546356e-08, -1.2654465062537432e-16)
# psi(1 + t) / (1 + t - DIGAMMA_ROOT), 0 <= t <= 1, a quotient; error 2^-59.9 of itself.
DIGAMMA_ABOVE: Final = (
    1.2503801375034054,
    1.7839116031777797,
    0.8597274304183083,
    0.16872682655000618,
    0.012447949567010367,
    0.00022696297294511273,
)
DIGAMMA_BELOW: Final = (
    1.0,
    2.1102422252547823,
    1.528230591642833,
    0.48109030128350894,
    0.06652223244081305,
    0.003460399488085818,
    4.0125295643930594e-05,
)
# Bernoulli's numbers B(2 k) over (2 k)! from k = 1 on.
EULER_MACLAURIN: Final = (
    0.08333333333333333,
    -0.001388888888888889,
    3.306878306878307e-05,
    -8.267195767195768e-07,
    2.08767569878681e-08,
    -5.284190138687493e-10,
    1.3382536530684679e-11,
    -3.3896802963225827e-13,
    8.586062056277845e-15,
    -2.174868698558062e-16,
    5.5090028283602295e-18,
    -1.3954464685812522e-19,
)
