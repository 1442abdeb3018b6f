"""Tests of a value, replacements by tests, and bits."""

import math

from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor, plain_functor
from ep.include.number_kind import Kind
from ep.include.primitive.unary_op import UnaryOp


@functor(UnaryOp.kLogicalNot, kinds=(Kind.BOOL, Kind.INTEGER, Kind.FLOAT))
def logical_not(m: MathLibrary) -> Function:
    """x == 0: true for -0, false for a NaN."""
    zero = m.T(0)

    def f(x: Scalar) -> Scalar:
        return x == zero

    return f


@functor(UnaryOp.kNotEqualZero)
def not_equal_zero(m: MathLibrary) -> Function:
    """1 where x != 0 (so for a NaN), else 0."""
    zero, one = m.T(0), m.T(1)

    def f(x: Scalar) -> Scalar:
        return one if x != zero else zero

    return f


@functor(UnaryOp.kNanAssign)
def nan_assign(m: MathLibrary) -> Function:
    """0 for a NaN, else x."""
    zero = m.T(0)

    def f(x: Scalar) -> Scalar:
        return zero if x != x else x

    return f


@plain_functor(UnaryOp.kIsNan)
def is_nan(x: Scalar) -> Scalar:
    """Return whether x is a NaN."""
    return x != x


@functor(UnaryOp.kIsInf)
def is_inf(m: MathLibrary) -> Function:
    """Return whether x is +-inf."""
    infinity = m.T(math.inf)

    def f(x: Scalar) -> Scalar:
        return abs(x) == infinity

    return f


@functor(UnaryOp.kIsFinite)
def is_finite(m: MathLibrary) -> Function:
    """Return whether x is neither +-inf nor a NaN."""
    infinity = m.T(math.inf)

    def f(x: Scalar) -> Scalar:
        return abs(x) < infinity

    return f


@plain_functor(UnaryOp.kIsNan, UnaryOp.kIsInf, kinds=(Kind.INTEGER,))
def never(x: Scalar) -> Scalar:
    """False: an integer is always finite."""
    return False


@plain_functor(UnaryOp.kIsFinite, kinds=(Kind.INTEGER,))
def always(x: Scalar) -> Scalar:
    """True: an integer is always finite."""
    return True


@plain_functor(UnaryOp.kBitwiseNot, kinds=(Kind.INTEGER,))
def bitwise_not(x: Scalar) -> Scalar:
    """Return x with every bit inverted."""
    return ~x


@plain_functor(UnaryOp.kBitwiseNot, kinds=(Kind.BOOL,))
def bool_not(x: Scalar) -> Scalar:
    """Return x with its only bit inverted."""
    return not x
