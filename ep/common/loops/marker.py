"""The mark of loops that are written out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def unrolled(values: Iterable[T]) -> Iterable[T]:
    """Mark a loop over `values` that `written_out` replaces by its turns; anywhere else it is an ordinary loop.

    It stands in a statement, `for k in unrolled(...)`, and in the generators of `tuple(... for k in unrolled(...))`, of
    `sum((... for k in unrolled(...)), start)`, which joins tuples where `start` is (), and of the arguments of a call,
    `function(*(... for k in unrolled(...)))`. What `values` is made of must be known before the function runs: numbers,
    names of the closure and globals, and the variables of the loops around it.
    """
    return values
