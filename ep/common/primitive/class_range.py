"""The checked range of classes that a OneHot encodes, the same on every device."""

from __future__ import annotations

from typing import Any, Final

from ep.common.checks import as_index
from ep.include.errors import Argument, ArgumentValueError

MAX_CLASS: Final = 2**62
"""The largest magnitude of a bound: index - lower_bound never wraps around."""


def as_class_range(lower_bound: Any, upper_bound: Any) -> tuple[int, int]:
    """Return the first class and the number of classes, from checked arguments of `Launch`.

    Raises TypeError if a bound is not an integer; ValueError beyond MAX_CLASS, and for bounds in the wrong order.
    """
    bounds = {
        name: as_index(bound, name) for name, bound in (("lower_bound", lower_bound), ("upper_bound", upper_bound))
    }
    for name, bound in bounds.items():
        if abs(bound) > MAX_CLASS:
            raise ArgumentValueError(name, f"is {bound}; it must be within 2**62 of 0")
    low, high = bounds.values()
    if high < low:
        raise ArgumentValueError("upper_bound", f"is {high}; it must not be below", Argument("lower_bound"), low)
    return low, high - low
