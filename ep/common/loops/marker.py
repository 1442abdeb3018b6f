"""The mark of loops that are unrolled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def unrolled(values: Iterable[T]) -> Iterable[T]:
    """Mark a loop over `values`, which `written_out` unrolls. Elsewhere it is an ordinary loop.

    It is used in a statement, `for k in unrolled(...)`, and in generators: of `tuple(... for k in unrolled(...))`, of
    `sum((... for k in unrolled(...)), start)`, which joins tuples if `start` is (), and of the arguments of a call,
    `function(*(... for k in unrolled(...)))`. `values` must be known before the function runs: made of numbers, names
    of the closure and globals, and the variables of enclosing loops.
    """
    return values
