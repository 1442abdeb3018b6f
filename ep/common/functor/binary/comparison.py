"""Comparisons. Their results are bool."""

import numpy as np

from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor
from ep.include.number_kind import Kind
from ep.include.primitive.binary_op import BinaryOp

_REAL = (Kind.BOOL, Kind.INTEGER, Kind.FLOAT)


@functor(BinaryOp.kEqual, kinds=_REAL)
def equal(m: MathLibrary) -> Function:
    """a = b."""

    def f(a: Scalar, b: Scalar) -> Scalar:
        return a == b

    return f


@functor(BinaryOp.kEqual, kinds=(Kind.COMPLEX,))
def complex_equal(m: MathLibrary) -> Function:
    """Whether both parts are equal."""

    def f(a: Scalar, b: Scalar) -> Scalar:
        return (a.real == b.real) & (a.imag == b.imag)

    return f


@functor(BinaryOp.kNotEqual, kinds=_REAL)
def not_equal(m: MathLibrary) -> Function:
    """a != b, true with NaN."""

    def f(a: Scalar, b: Scalar) -> Scalar:
        return a != b

    return f


@functor(BinaryOp.kNotEqual, kinds=(Kind.COMPLEX,))
def complex_not_equal(m: MathLibrary) -> Function:
    """Whether one of the parts differs; true with NaN."""

    def f(a: Scalar, b: Scalar) -> Scalar:
        return (a.real != b.real) | (a.imag != b.imag)

    return f


@functor(BinaryOp.kLessThan, kinds=_REAL)
def less_than(m: MathLibrary) -> Function:
    """a < b."""

    def f(a: Scalar, b: Scalar) -> Scalar:
        return a < b

    return f


@functor(BinaryOp.kLessEqual, kinds=_REAL)
def less_equal(m: MathLibrary) -> Function:
    """a <= b."""

    def f(a: Scalar, b: Scalar) -> Scalar:
        return a <= b

    return f


@functor(BinaryOp.kGreaterThan, kinds=_REAL)
def greater_than(m: MathLibrary) -> Function:
    """a > b."""

    def f(a: Scalar, b: Scalar) -> Scalar:
        return a > b

    return f


@functor(BinaryOp.kGreaterEqual, kinds=_REAL)
def greater_equal(m: MathLibrary) -> Function:
    """a >= b."""

    def f(a: Scalar, b: Scalar) -> Scalar:
        return a >= b

    return f


@functor(BinaryOp.kIsClose)
def is_close(m: MathLibrary) -> Function:
    """|a - b| <= atol + rtol |b| for a finite b, or a = b, as `numpy.isclose` has it."""
    infinity = m.T(np.inf)

    def f(a: Scalar, b: Scalar, atol: Scalar, rtol: Scalar) -> Scalar:
        return (a == b) | ((abs(b) < infinity) & (abs(a - b) <= atol + rtol * abs(b)))

    return f


@functor(BinaryOp.kIsCloseEqualNan)
def is_close_equal_nan(m: MathLibrary) -> Function:
    """As kIsClose, and NaN is close to NaN."""
    close = m.use(is_close)

    def f(a: Scalar, b: Scalar, atol: Scalar, rtol: Scalar) -> Scalar:
        return close(a, b, atol, rtol) | ((a != a) & (b != b))

    return f


@functor(BinaryOp.kIsClose, BinaryOp.kIsCloseEqualNan, kinds=(Kind.BOOL, Kind.INTEGER))
def integer_is_close(m: MathLibrary) -> Function:
    """|a - b| <= atol + rtol |b|, or a = b, in float64."""

    def f(a: Scalar, b: Scalar, atol: Scalar, rtol: Scalar) -> Scalar:
        p, q = np.float64(a), np.float64(b)
        return (p == q) | (abs(p - q) <= atol + rtol * abs(q))

    return f
