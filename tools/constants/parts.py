"""Constants as sums of a few numbers of float32 or float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mpf

from tools.constants.fit import rounded


class Parts(NamedTuple):
    """Numbers, and a description of them."""

    text: str
    numbers: Any


def nearest(value: Any) -> float:
    """Return the float64 number nearest to `value`."""
    return rounded(value, np.float64)


def parts(
    text: str, value: Any, count: int, real: type[np.floating[Any]] = np.float64, last_bit: int | None = None
) -> Parts:
    """Return `value` as the sum of `count` numbers, or as one number if count is 1.

    Each is the number nearest to `value` less the numbers before it.

    last_bit: the first is a multiple of 2 to this power.
    """
    numbers: list[float] = []
    for _ in range(count):
        rest = value - mpmath.fsum(numbers)
        if last_bit is not None and not numbers:
            rest = mpmath.nint(mpmath.ldexp(rest, -last_bit)) * mpf(2) ** last_bit
        numbers.append(rounded(rest, real))
    return Parts(
        f"{text}{'' if count == 1 else f' as the sum of {count} numbers'}.",
        numbers[0] if count == 1 else tuple(numbers),
    )


def powers(name: str, text: str, sign: int) -> dict[str, Parts]:
    """Return the powers of 2 to the multiples of sign/16 below 1 as `name`, and the relative error of each."""
    exact = [mpmath.power(2, mpf(sign * i) / 16) for i in range(16)]
    numbers = [nearest(each) for each in exact]
    rest = [nearest(each - number) / number for each, number in zip(exact, numbers, strict=True)]
    short = name.removesuffix("_OF_TWO")
    return {
        name: Parts(f"{text} for i from 0 to 15.", tuple(numbers)),
        f"{short}_REST": Parts("The relative errors of these numbers.", tuple(rest)),
    }
