"""Elementary mathematics: the math library's function of the op's own name, and plain arithmetic."""

import numpy as np

from ep.common.functor.math_library import Function, Maker, MathLibrary, Scalar
from ep.common.functor.table import functor
from ep.include.number_kind import Kind
from ep.include.primitive.unary_op import UnaryOp

_ELEMENTARY = {
    UnaryOp.kExp: "exp",
    UnaryOp.kExp2: "exp2",
    UnaryOp.kExpm1: "expm1",
    UnaryOp.kLog: "log",
    UnaryOp.kLog2: "log2",
    UnaryOp.kLog10: "log10",
    UnaryOp.kLog1p: "log1p",
    UnaryOp.kSqrt: "sqrt",
    UnaryOp.kRsqrt: "rsqrt",
    UnaryOp.kSin: "sin",
    UnaryOp.kCos: "cos",
    UnaryOp.kTan: "tan",
    UnaryOp.kAsin: "asin",
    UnaryOp.kAcos: "acos",
    UnaryOp.kAtan: "atan",
    UnaryOp.kSinh: "sinh",
    UnaryOp.kCosh: "cosh",
    UnaryOp.kTanh: "tanh",
    UnaryOp.kAsinh: "asinh",
    UnaryOp.kAcosh: "acosh",
    UnaryOp.kAtanh: "atanh",
    UnaryOp.kErf: "erf",
    UnaryOp.kErfc: "erfc",
    UnaryOp.kLgamma: "lgamma",
    UnaryOp.kFloor: "floor",
    UnaryOp.kCeil: "ceil",
    UnaryOp.kTrunc: "trunc",
    # Both round ties to even, as upstream does.
    UnaryOp.kRint: "rint",
    UnaryOp.kRound: "rint",
}


def _elementary(name: str) -> Maker:
    def maker(m: MathLibrary) -> Function:
        function = getattr(m, name)

        def f(x: Scalar) -> Scalar:
            return function(x)

        return f

    return maker


for _op, _name in _ELEMENTARY.items():
    functor(_op)(_elementary(_name))


@functor(UnaryOp.kIdentity, UnaryOp.kCast, kinds=tuple(Kind))
def identity(m: MathLibrary) -> Function:
    """x; a result of another type is converted when it is stored."""

    def f(x: Scalar) -> Scalar:
        return x

    return f


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


@functor(UnaryOp.kNegative, kinds=(Kind.FLOAT, Kind.COMPLEX))
def negative(m: MathLibrary) -> Function:
    """-x."""

    def f(x: Scalar) -> Scalar:
        return -x

    return f


@functor(UnaryOp.kSign)
def sign(m: MathLibrary) -> Function:
    """1, 0 or -1; 0 for a NaN."""
    zero, one = m.T(0), m.T(1)

    def f(x: Scalar) -> Scalar:
        return one if x > zero else (-one if x < zero else zero)

    return f


@functor(UnaryOp.kSquare)
def square(m: MathLibrary) -> Function:
    """x^2."""

    def f(x: Scalar) -> Scalar:
        return x * x

    return f


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
