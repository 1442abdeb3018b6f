"""Fits polynomials whose coefficients are numbers of float32 or float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import mpmath
import numpy as np
from mpmath import mpf

DIGITS: Final = 90
_STEPS = 30  # of Lawson's method: after them the largest error is within a few percent of the least possible
_PLACES = 400  # the points at which the error is evaluated

Function = Callable[[Any], Any]


class Polynomial(NamedTuple):
    """A polynomial in x that is near `function` on [lower, upper].

    text: a description of the polynomial.
    of: a description of the quantity that the error is relative to.
    num_coefficients: includes the constant one.
    weight: the factor of the error at x; with the inverse of a result, the error is relative to the result.
    fixed: the first coefficients, if they are given.
    two_parts: the first coefficient is the sum of two numbers; the second one is returned separately.
    real: the type of the coefficients.
    """

    text: str
    of: str
    function: Function
    lower: Any
    upper: Any
    num_coefficients: int
    weight: Function
    fixed: tuple[float, ...] = ()
    two_parts: bool = False
    real: type[np.floating[Any]] = np.float64


class Rational(NamedTuple):
    """A quotient of two polynomials in x that is near `function` on [lower, upper]; the denominator begins with 1."""

    text: str
    of: str
    function: Function
    lower: Any
    upper: Any
    num_above: int
    num_below: int
    weight: Function


class Fitted(NamedTuple):
    """Coefficients, the constant one first, the rounding error of the first one, and the largest error."""

    coefficients: tuple[float, ...]
    first_rest: float
    error: float


def rounded(value: Any, real: type[np.floating[Any]]) -> float:
    """Return the number of `real` that is nearest to `value`."""
    with mpmath.workprec(53 if real is np.float64 else 24):
        return float(+value)


def fit(problem: Polynomial) -> Fitted:
    """Fit `problem` by least squares on Chebyshev's nodes, weighted by Lawson's method for the least largest error.

    The coefficients are then rounded one by one from the first, and those after it fitted again.
    """
    with mpmath.workdps(DIGITS):
        count, fixed = problem.num_coefficients, [mpf(c) for c in problem.fixed]
        nodes = _nodes(problem.lower, problem.upper, 8 * count)
        weights = [problem.weight(x) for x in nodes]
        want = [problem.function(x) - _evaluated(fixed, x) for x in nodes]
        emphasis = [mpf(1)] * len(nodes)
        for _ in range(_STEPS):
            found = _solved(nodes, weights, emphasis, want, len(fixed), count)
            errors = [
                abs(w * (y - _evaluated(found, x) * x ** len(fixed)))
                for w, y, x in zip(weights, want, nodes, strict=True)
            ]
            emphasis = [a * e for a, e in zip(emphasis, errors, strict=True)]
            total = mpmath.fsum(emphasis)
            emphasis = [a / total for a in emphasis]
        chosen, rest = fixed, 0.0
        while len(chosen) < count:
            value = _solved(nodes, weights, emphasis, want, len(chosen), count)[0]
            number = mpf(rounded(value, problem.real))
            if problem.two_parts and not chosen:
                rest = rounded(value - number, problem.real)
            degree = len(chosen)
            exact = number + (rest if degree == 0 else 0)
            want = [y - exact * x**degree for y, x in zip(want, nodes, strict=True)]
            chosen = [*chosen, number]
        coefficients = tuple(float(c) for c in chosen)
    return Fitted(coefficients, rest, largest_error(problem, coefficients, rest))


def fit_rational(problem: Rational) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Return (coefficients of the numerator, those of the denominator, largest error); all are rounded together.

    The expression above - function below, which is linear in the coefficients, is fitted, with weights from the `below`
    found before.
    """
    with mpmath.workdps(DIGITS):
        above, below = problem.num_above, problem.num_below
        nodes = _nodes(problem.lower, problem.upper, 8 * (above + below))
        want = [problem.function(x) for x in nodes]
        weights, emphasis, lower = [problem.weight(x) for x in nodes], [mpf(1)] * len(nodes), [mpf(1)]
        for _ in range(_STEPS):
            rows = [
                [w / _evaluated(lower, x) * c for c in _row(x, y, above, below)]
                for w, x, y in zip(weights, nodes, want, strict=True)
            ]
            found = _least_squares(rows, emphasis)
            upper, lower = found[:above], [mpf(1), *found[above:]]
            errors = [
                abs(w * (_evaluated(upper, x) / _evaluated(lower, x) - y))
                for w, x, y in zip(weights, nodes, want, strict=True)
            ]
            emphasis = [a * e for a, e in zip(emphasis, errors, strict=True)]
            total = mpmath.fsum(emphasis)
            emphasis = [a / total for a in emphasis]
        return tuple(map(float, upper)), tuple(map(float, lower)), float(max(errors))


def _row(x: Any, y: Any, above: int, below: int) -> list[Any]:
    """Return the factors of the coefficients, and the sum to reach: above(x) - y (below(x) - 1) = y."""
    return [*(x**i for i in range(above)), *(-y * x**i for i in range(1, below)), y]


def _least_squares(rows: Sequence[Sequence[Any]], emphasis: Sequence[Any]) -> list[Any]:
    *columns, right = list(zip(*rows, strict=True))
    weighted = [[a * c for a, c in zip(emphasis, column, strict=True)] for column in columns]
    matrix = mpmath.matrix([[mpmath.fdot(one, other) for other in columns] for one in weighted])
    return list(mpmath.cholesky_solve(matrix, mpmath.matrix([mpmath.fdot(one, right) for one in weighted])))


def largest_error(problem: Polynomial, coefficients: Sequence[float], first_rest: float = 0.0) -> float:
    """Return the largest weighted error of a polynomial, compared with its exact function."""
    with mpmath.workdps(40):
        terms = [mpf(c) for c in coefficients]
        terms[0] += mpf(first_rest)
        places = _nodes(problem.lower, problem.upper, _PLACES)
        return float(max(abs(problem.weight(x) * (problem.function(x) - _evaluated(terms, x))) for x in places))


def _nodes(lower: Any, upper: Any, count: int) -> list[Any]:
    """Return Chebyshev's nodes; an even number of them, so that the middle is not a node."""
    count += count % 2
    middle, half = (mpf(lower) + mpf(upper)) / 2, (mpf(upper) - mpf(lower)) / 2
    return [middle + half * mpmath.cos(mpmath.pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def _evaluated(terms: Sequence[Any], x: Any) -> Any:
    value = mpf(0)
    for term in reversed(terms):
        value = value * x + term
    return value


def _solved(
    nodes: Sequence[Any], weights: Sequence[Any], emphasis: Sequence[Any], want: Sequence[Any], first: int, count: int
) -> list[Any]:
    """Return the coefficients of the degrees from `first` on, by normal equations, whose matrix is made of moments."""
    factors = [a * w * w * x ** (2 * first) for a, w, x in zip(emphasis, weights, nodes, strict=True)]
    sides = [a * w * w * y * x**first for a, w, y, x in zip(emphasis, weights, want, nodes, strict=True)]
    size = count - first
    moments, right = [], []
    for degree in range(2 * size - 1):
        moments.append(mpmath.fsum(factors))
        factors = [f * x for f, x in zip(factors, nodes, strict=True)]
        if degree < size:
            right.append(mpmath.fsum(sides))
            sides = [s * x for s, x in zip(sides, nodes, strict=True)]
    matrix = mpmath.matrix(size)
    for i in range(size):
        for j in range(size):
            matrix[i, j] = moments[i + j]
    # mpmath 1.3 cannot make a matrix without rows
    return list(mpmath.cholesky_solve(matrix, mpmath.matrix(right))) if right else []
