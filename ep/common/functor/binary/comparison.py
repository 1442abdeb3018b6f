"""Comparisons. Their results are bool."""

import numpy as np

from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor, plain_functor
from ep.include.number_kind import Kind
from ep.include.primitive.binary_op import BinaryOp

_REAL = (Kind.BOOL, Kind.INTEGER, Kind.FLOAT)


@plain_functor(BinaryOp.kEqual, kinds=_REAL)
def equal(a: Scalar, b: Scalar) -> Scalar:
    """a = b."""
    return a == b


@plain_functor(BinaryOp.kEqual, kinds=(Kind.COMPLEX,))
def complex_equal(a: Scalar, b: Scalar) -> Scalar:
    """Whether both parts are equal."""
    return (a.real == b.real) & (a.imag == b.imag)


@plain_functor(BinaryOp.kNotEqual, kinds=_REAL)
def not_equal(a: Scalar, b: Scalar) -> Scalar:
    """a != b, true with NaN."""
    return a != b


@plain_functor(BinaryOp.kNotEqual, kinds=(Kind.COMPLEX,))
def complex_not_equal(a: Scalar, b: Scalar) -> Scalar:
    """Whether one of the parts differs; true with NaN."""
    return (a.real != b.real) | (a.imag != b.imag)


@plain_functor(BinaryOp.kLessThan, kinds=_REAL)
def less_than(a: Scalar, b: Scalar) -> Scalar:
    """a < b."""
    return a < b


@plain_functor(BinaryOp.kLessEqual, kinds=_REAL)
def less_equal(a: Scalar, b: Scalar) -> Scalar:
    """a <= b."""
    return a <= b


@plain_functor(BinaryOp.kGreaterThan, kinds=_REAL)
def greater_than(a: Scalar, b: Scalar) -> Scalar:
    """a > b."""
    return a > b


@plain_functor(BinaryOp.kGreaterEqual, kinds=_REAL)
def greater_equal(a: Scalar, b: Scalar) -> Scalar:
    """a >= b."""
    return a >= b


@functor(BinaryOp.kIsClose)
def is_close(m: MathLibrary) -> Function:
    """|a - b| <= atol + rtol |b| for a finite b, or a = b, as `numpy.isclose` has it."""
    infinity, fma = m.T(np.inf), m.fma

    def f(a: Scalar, b: Scalar, atol: Scalar, rtol: Scalar) -> Scalar:
        return (a == b) | ((abs(b) < infinity) & (abs(a - b) <= fma(rtol, abs(b), atol)))

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
    fma = m.fma

    def f(a: Scalar, b: Scalar, atol: Scalar, rtol: Scalar) -> Scalar:
        p, q = np.float64(a), np.float64(b)
        return (p == q) | (abs(p - q) <= fma(rtol, abs(q), atol))

    return f
