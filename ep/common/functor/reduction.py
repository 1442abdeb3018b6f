"""Reductions: how the elements of a row become one value, written once for all devices.

A device makes a *state* of nothing, adds elements to it, merges the states of parts of a row, and at last turns the
state into the result. A state is a tuple of numbers of the library's type T. The order in which a device adds and
merges follows from the shape alone, so that a result has the same bits in every run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ep.common.functor.math_library import Function, Maker, MathLibrary, Scalar
from ep.include.number_kind import Kind

State = Any
"""A tuple of `num_parts` numbers."""


class Reduction(NamedTuple):
    """The makers of a reduction's functions.

    num_parts: the numbers of a state.
    empty: () -> the state of no elements.
    add: (state, element) -> the state with one more element.
    merge: (state, state) -> the state of both parts of a row, the earlier one first.
    value: (state) -> the result.
    """

    name: str
    num_parts: int
    empty: Maker
    add: Maker
    merge: Maker
    value: Maker


def _zero(m: MathLibrary) -> Function:
    zero = m.T(0)

    def f() -> State:
        return (zero,)

    return f


def _add_wrapping(m: MathLibrary) -> Function:
    T = m.T

    def f(state: State, x: Scalar) -> State:
        return (T(state[0] + T(x)),)

    return f


def _merge_wrapping(m: MathLibrary) -> Function:
    T = m.T

    def f(a: State, b: State) -> State:
        return (T(a[0] + b[0]),)

    return f


def _only(m: MathLibrary) -> Function:
    def f(state: State) -> Scalar:
        return state[0]

    return f


def _exact_sum(m: MathLibrary) -> Function:
    """Knuth's two-sum: a + b rounded, and its rounding error, exactly. The error is NaN where the sum is not finite."""

    def f(a: Scalar, b: Scalar) -> State:
        total = a + b
        part = total - a
        return total, (a - (total - part)) + (b - part)

    return f


def _zeros(m: MathLibrary) -> Function:
    zero = m.T(0)

    def f() -> State:
        return zero, zero

    return f


def _add_compensated(m: MathLibrary) -> Function:
    exact = m.use(_exact_sum)

    def f(state: State, x: Scalar) -> State:
        total, error = exact(state[0], x)
        return total, state[1] + error

    return f


def _merge_compensated(m: MathLibrary) -> Function:
    exact = m.use(_exact_sum)

    def f(a: State, b: State) -> State:
        total, error = exact(a[0], b[0])
        return total, (a[1] + b[1]) + error

    return f


def _compensated(m: MathLibrary) -> Function:
    def f(state: State) -> Scalar:
        total, error = state
        return total if error != error else total + error

    return f


_WRAPPING_SUM: Final = Reduction("sum", 1, _zero, _add_wrapping, _merge_wrapping, _only)
_COMPENSATED_SUM: Final = Reduction("sum", 2, _zeros, _add_compensated, _merge_compensated, _compensated)

SUM: Final[Mapping[Kind, Reduction]] = {Kind.INTEGER: _WRAPPING_SUM, Kind.FLOAT: _COMPENSATED_SUM}
"""The sum of a row. Integers wrap. The errors of floating-point sums are added up beside them: where all elements have
one sign, the result is within 2 ulp of the exact sum, however many there are."""
