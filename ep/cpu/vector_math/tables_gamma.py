"""The functions around the gamma function by name."""

from typing import Any, Final

from ep.cpu.vector_math import gamma, narrow_gamma, polygamma

GAMMA: Final[dict[str, Any]] = {
    "lgamma": gamma.lgamma,
    "digamma": polygamma.digamma,
    "trigamma": polygamma.trigamma,
}
"""float64 to float64."""

GAMMA_NARROW: Final[dict[str, Any]] = {name: getattr(narrow_gamma, name) for name in GAMMA}
"""float64 to float64 for float32 values (hence float16 and bfloat16 values), to be rounded to float32 or narrower."""

GAMMA_OF_POSITIVE: Final[dict[str, Any]] = {
    "lgamma": gamma.lgamma_of_positive,
    "digamma": polygamma.digamma_of_positive,
    "trigamma": polygamma.trigamma_of_positive,
}
"""The same only for finite arguments above 0, with the same bits."""

GAMMA_OF_POSITIVE_NARROW: Final[dict[str, Any]] = {name: getattr(narrow_gamma, f"{name}_of_positive") for name in GAMMA}
