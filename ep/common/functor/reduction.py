"""Reductions of a row of elements to one value, written once for all devices.

The order in which a device combines elements follows from the shape alone, so a result has the same bits in every run.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.functor.math_library import Function, Maker, MathLibrary, Scalar
from ep.include.number_kind import Kind
from ep.include.primitive.reduce_op import ReduceOp

State = Any
"""A tuple of `num_parts` numbers."""


class Reduction(NamedTuple):
    """The makers of a reduction's functions, on numbers of the library's type T.

    identity: () -> the value of an empty row.
    before: (element) -> the value of a row of this element.
    combine: (value, value) -> the value of both parts of a row, the earlier one first; associative up to rounding.
    after: (value, number of elements) -> the result.
    """

    name: str
    identity: Maker
    before: Maker
    combine: Maker
    after: Maker


class States(NamedTuple):
    """The functions of a reduction with a state: the value, and the rounding errors if they are kept.

    empty: () -> the state of no elements. add: (state, element) -> the state with one more element.
    merge: (state, state) -> the state of both parts. value: (state, number of elements) -> the result.
    """

    num_parts: int
    empty: Function
    add: Function
    merge: Function
    value: Function


def states(reduction: Reduction, m: MathLibrary, *, compensated: bool = False) -> States:
    """Return the functions of a reduction in a library.

    compensated: for a sum of floating-point numbers, whether rounding errors are summed, too. Then the result is within
        2 ulp of the exact sum if all numbers have one sign, however many there are.
    """
    makers = _compensated(reduction) if compensated else _plain(reduction)
    return States(2 if compensated else 1, *map(m.use, makers))


def _plain(reduction: Reduction) -> tuple[Maker, Maker, Maker, Maker]:
    def empty(m: MathLibrary) -> Function:
        identity = m.use(reduction.identity)

        def f() -> State:
            return (identity(),)

        return f

    def add(m: MathLibrary) -> Function:
        T, before, combine = m.T, m.use(reduction.before), m.use(reduction.combine)

        def f(state: State, x: Scalar) -> State:
            return (combine(state[0], before(T(x))),)

        return f

    def merge(m: MathLibrary) -> Function:
        combine = m.use(reduction.combine)

        def f(a: State, b: State) -> State:
            return (combine(a[0], b[0]),)

        return f

    def value(m: MathLibrary) -> Function:
        after = m.use(reduction.after)

        def f(state: State, count: int) -> Scalar:
            return after(state[0], count)

        return f

    return empty, add, merge, value


def _compensated(reduction: Reduction) -> tuple[Maker, Maker, Maker, Maker]:
    def empty(m: MathLibrary) -> Function:
        identity, zero = m.use(reduction.identity), m.T(0)

        def f() -> State:
            return identity(), zero

        return f

    def add(m: MathLibrary) -> Function:
        before, exact = m.use(reduction.before), m.use(exact_sum)

        def f(state: State, x: Scalar) -> State:
            total, error = exact(state[0], before(x))
            return total, state[1] + error

        return f

    def merge(m: MathLibrary) -> Function:
        exact = m.use(exact_sum)

        def f(a: State, b: State) -> State:
            total, error = exact(a[0], b[0])
            return total, (a[1] + b[1]) + error

        return f

    def value(m: MathLibrary) -> Function:
        after = m.use(reduction.after)

        def f(state: State, count: int) -> Scalar:
            total, error = state
            return after(total if error != error else total + error, count)

        return f

    return empty, add, merge, value


def exact_sum(m: MathLibrary) -> Function:
    """Return Knuth's two-sum: a + b rounded, and its exact rounding error, which is NaN if the sum is not finite."""

    def f(a: Scalar, b: Scalar) -> State:
        total = a + b
        part = total - a
        return total, (a - (total - part)) + (b - part)

    return f


def _zero(m: MathLibrary) -> Function:
    zero = m.T(0)

    def f() -> Scalar:
        return zero

    return f


def _same(m: MathLibrary) -> Function:
    def f(x: Scalar) -> Scalar:
        return x

    return f


def _plus(m: MathLibrary) -> Function:
    T = m.T

    def f(a: Scalar, b: Scalar) -> Scalar:
        return T(a + b)

    return f


def _value_alone(m: MathLibrary) -> Function:
    def f(value: Scalar, count: int) -> Scalar:
        return value

    return f


def _one(m: MathLibrary) -> Function:
    one = m.T(1)

    def f() -> Scalar:
        return one

    return f


def _times(m: MathLibrary) -> Function:
    T = m.T

    def f(a: Scalar, b: Scalar) -> Scalar:
        return T(a * b)

    return f


def _share(m: MathLibrary) -> Function:
    T = m.T

    def f(value: Scalar, count: int) -> Scalar:
        return value / T(count)

    return f


def _greatest(m: MathLibrary) -> Function:
    greatest = m.T(np.inf) if issubclass(m.T, np.inexact) else m.T(np.iinfo(m.T).max)

    def f() -> Scalar:
        return greatest

    return f


def _least(m: MathLibrary) -> Function:
    least = m.T(-np.inf) if issubclass(m.T, np.inexact) else m.T(np.iinfo(m.T).min)

    def f() -> Scalar:
        return least

    return f


def _lesser(m: MathLibrary) -> Function:
    def f(a: Scalar, b: Scalar) -> Scalar:
        return a if a < b or a != a else b

    return f


def _greater(m: MathLibrary) -> Function:
    def f(a: Scalar, b: Scalar) -> Scalar:
        return a if a > b or a != a else b

    return f


def _truth(m: MathLibrary) -> Function:
    zero, one = m.T(0), m.T(1)

    def f(x: Scalar) -> Scalar:
        return one if x != zero else zero

    return f


def _either(m: MathLibrary) -> Function:
    zero = m.T(0)

    def f(a: Scalar, b: Scalar) -> Scalar:
        return a if a != zero else b

    return f


def _both(m: MathLibrary) -> Function:
    zero = m.T(0)

    def f(a: Scalar, b: Scalar) -> Scalar:
        return b if a != zero else a

    return f


def _is_true(m: MathLibrary) -> Function:
    zero = m.T(0)

    def f(value: Scalar, count: int) -> Scalar:
        return value != zero

    return f


SUM: Final = Reduction("sum", _zero, _same, _plus, _value_alone)
"""The sum of a row. Integers wrap around."""
_PROD: Final = Reduction("prod", _one, _same, _times, _value_alone)
_MIN: Final = Reduction("min", _greatest, _same, _lesser, _value_alone)
_MAX: Final = Reduction("max", _least, _same, _greater, _value_alone)
_MEAN: Final = Reduction("mean", _zero, _same, _plus, _share)
_ANY: Final = Reduction("any", _zero, _truth, _either, _is_true)
_ALL: Final = Reduction("all", _one, _truth, _both, _is_true)

_OF_OPS: Final = {
    ReduceOp.kSum: SUM,
    ReduceOp.kProd: _PROD,
    ReduceOp.kMin: _MIN,
    ReduceOp.kMax: _MAX,
    ReduceOp.kMean: _MEAN,
    ReduceOp.kAny: _ANY,
    ReduceOp.kAll: _ALL,
}
_OF_BOOLS: Final = {
    ReduceOp.kSum: ReduceOp.kAny,
    ReduceOp.kMax: ReduceOp.kAny,
    ReduceOp.kProd: ReduceOp.kAll,
    ReduceOp.kMin: ReduceOp.kAll,
}


def first_reduction(op: ReduceOp, kind: Kind) -> ReduceOp:
    """Return the op that is the same as `op` on numbers of a kind: for bools, sums are "or" and products "and"."""
    return _OF_BOOLS.get(op, op) if kind is Kind.BOOL else op


def reduction_of(op: ReduceOp, kind: Kind) -> Reduction:
    """Return the reduction of `op` on numbers of a kind.

    The mean is the sum divided by the number of elements: a device has to keep the sum from overflowing if the mean
    does not.
    """
    return _OF_OPS[first_reduction(op, kind)]
