"""Piecewise linear activation functions, and kSquareReLU. Comparisons pass a NaN on to the last piece."""

import numpy as np

from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor, plain_functor
from ep.include.number_kind import Kind
from ep.include.primitive.unary_op import UnaryOp


@functor(UnaryOp.kRelu, kinds=(Kind.FLOAT, Kind.INTEGER, Kind.BOOL))
def relu(m: MathLibrary) -> Function:
    """Zero up to 0 (-0 becomes +0), x above; x itself if the type has no negative numbers."""
    zero = m.T(0)

    def keep(x: Scalar) -> Scalar:
        return x

    def f(x: Scalar) -> Scalar:
        return zero if x <= zero else x

    return keep if issubclass(m.T, np.unsignedinteger | np.bool_) else f


@functor(UnaryOp.kSquareReLU)
def square_relu(m: MathLibrary) -> Function:
    """Zero up to 0, x^2 above."""
    zero = m.T(0)

    def f(x: Scalar) -> Scalar:
        return zero if x <= zero else x * x

    return f


@functor(UnaryOp.kLeakyRelu)
def leaky_relu(m: MathLibrary) -> Function:
    """alpha x up to 0, x above."""
    zero = m.T(0)

    def f(x: Scalar, alpha: Scalar) -> Scalar:
        return x if x > zero else alpha * x

    return f


@plain_functor(UnaryOp.kThreshold)
def threshold(x: Scalar, limit: Scalar, value: Scalar) -> Scalar:
    """`value` up to the limit, x above."""
    return value if x <= limit else x


@plain_functor(UnaryOp.kHardTanh)
def hard_tanh(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """x clamped to low ... high; low is tested first."""
    return low if x <= low else (high if x >= high else x)


@functor(UnaryOp.kHardSigmoid)
def hard_sigmoid(m: MathLibrary) -> Function:
    """x / 6 + 1/2 clamped to 0 ... 1, as (x + 3) / 6, which does not cancel near -3."""
    zero, one, three, six = m.T(0), m.T(1), m.T(3), m.T(6)

    def f(x: Scalar) -> Scalar:
        return zero if x <= -three else (one if x >= three else (x + three) / six)

    return f


@functor(UnaryOp.kHardSwish)
def hard_swish(m: MathLibrary) -> Function:
    """0 up to -3, x from 3 on, x (x + 3) / 6 between."""
    zero, three, six = m.T(0), m.T(3), m.T(6)

    def f(x: Scalar) -> Scalar:
        return zero if x <= -three else (x if x >= three else x * (x + three) / six)

    return f


@functor(UnaryOp.kHardShrink)
def hard_shrink(m: MathLibrary) -> Function:
    """0 where -bound <= x <= bound, x elsewhere."""
    zero = m.T(0)

    def f(x: Scalar, bound: Scalar) -> Scalar:
        return zero if abs(x) <= bound else x

    return f


@functor(UnaryOp.kSoftShrink)
def soft_shrink(m: MathLibrary) -> Function:
    """0 where -alpha <= x <= alpha, x - alpha above, x + alpha below."""
    zero = m.T(0)

    def f(x: Scalar, alpha: Scalar) -> Scalar:
        return zero if abs(x) <= alpha else (x - alpha if x > alpha else x + alpha)

    return f
