"""Logic on truth values (a number is true unless it is zero) and on bits."""

from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor, plain_functor
from ep.include.number_kind import Kind
from ep.include.primitive.binary_op import BinaryOp

_NUMBERS = (Kind.INTEGER, Kind.FLOAT)


@functor(BinaryOp.kLogicalAnd, kinds=_NUMBERS)
def logical_and(m: MathLibrary) -> Function:
    """Whether both are true; NaN is true."""
    zero = m.T(0)

    def f(a: Scalar, b: Scalar) -> Scalar:
        return (a != zero) & (b != zero)

    return f


@functor(BinaryOp.kLogicalOr, kinds=_NUMBERS)
def logical_or(m: MathLibrary) -> Function:
    """Whether at least one of them is true."""
    zero = m.T(0)

    def f(a: Scalar, b: Scalar) -> Scalar:
        return (a != zero) | (b != zero)

    return f


@functor(BinaryOp.kLogicalXor, kinds=_NUMBERS)
def logical_xor(m: MathLibrary) -> Function:
    """Whether exactly one of them is true."""
    zero = m.T(0)

    def f(a: Scalar, b: Scalar) -> Scalar:
        return (a != zero) != (b != zero)

    return f


@plain_functor(BinaryOp.kLogicalAnd, kinds=(Kind.BOOL,))
@plain_functor(BinaryOp.kBitwiseAnd, kinds=(Kind.BOOL, Kind.INTEGER))
def bitwise_and(a: Scalar, b: Scalar) -> Scalar:
    """a & b."""
    return a & b


@plain_functor(BinaryOp.kLogicalOr, kinds=(Kind.BOOL,))
@plain_functor(BinaryOp.kBitwiseOr, kinds=(Kind.BOOL, Kind.INTEGER))
def bitwise_or(a: Scalar, b: Scalar) -> Scalar:
    """a | b."""
    return a | b


@plain_functor(BinaryOp.kLogicalXor, kinds=(Kind.BOOL,))
@plain_functor(BinaryOp.kBitwiseXor, kinds=(Kind.BOOL, Kind.INTEGER))
def bitwise_xor(a: Scalar, b: Scalar) -> Scalar:
    """a ^ b."""
    return a ^ b
