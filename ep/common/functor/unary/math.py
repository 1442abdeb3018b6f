"""Elementary mathematics: the math library's function of the op's own name, and plain arithmetic."""

import numpy as np

from ep.common.functor.math_library import ELEMENTARY, Function, Maker, MathLibrary, Scalar
from ep.common.functor.table import functor, plain_functor
from ep.include.number_kind import Kind
from ep.include.primitive.unary_op import UnaryOp


def _elementary(name: str) -> Maker:
    def maker(m: MathLibrary) -> Function:
        function = getattr(m, name)

        def f(x: Scalar) -> Scalar:
            return function(x)

        return f

    return maker


for _op in UnaryOp:
    if (_name := _op.name.removeprefix("k").lower()) in ELEMENTARY:
        functor(_op)(_elementary(_name))
functor(UnaryOp.kRound)(_elementary("rint"))  # both round ties to even, as upstream does


@plain_functor(UnaryOp.kIdentity, UnaryOp.kCast, kinds=tuple(Kind))
def identity(x: Scalar) -> Scalar:
    """x; a result of another type is converted when it is stored."""
    return x


@functor(UnaryOp.kAbs, kinds=(Kind.FLOAT, Kind.INTEGER))
def absolute(m: MathLibrary) -> Function:
    """|x|; the most negative integer stays as it is."""
    zero = m.T(0)

    def real(x: Scalar) -> Scalar:
        return abs(x)

    def signed(x: Scalar) -> Scalar:
        return -x if x < zero else x

    def unsigned(x: Scalar) -> Scalar:
        return x

    if issubclass(m.T, np.floating):
        return real
    return signed if issubclass(m.T, np.signedinteger) else unsigned


@plain_functor(UnaryOp.kNegative, kinds=(Kind.FLOAT, Kind.COMPLEX))
def negative(x: Scalar) -> Scalar:
    """-x."""
    return -x


@functor(UnaryOp.kSign)
def sign(m: MathLibrary) -> Function:
    """1, 0 or -1; 0 for a NaN."""
    zero, one = m.T(0), m.T(1)

    def f(x: Scalar) -> Scalar:
        return one if x > zero else (-one if x < zero else zero)

    return f


@plain_functor(UnaryOp.kSquare)
def square(x: Scalar) -> Scalar:
    """x^2."""
    return x * x


@functor(UnaryOp.kReciprocal)
def reciprocal(m: MathLibrary) -> Function:
    """1 / x."""
    one = m.T(1)

    def f(x: Scalar) -> Scalar:
        return one / x

    return f


@functor(UnaryOp.kReciprocalNoNan)
def reciprocal_no_nan(m: MathLibrary) -> Function:
    """1 / x, 0 where x is 0."""
    zero, one = m.T(0), m.T(1)

    def f(x: Scalar) -> Scalar:
        return zero if x == zero else one / x

    return f
