"""The backward ops of x^2, 1 / x, sqrt(x) and 1 / sqrt(x)."""

from ep.common.functor.binary.arithmetic import complex_div
from ep.common.functor.binary.gradient import quotient, unless_nan
from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor, plain_functor
from ep.common.functor.unary.complex import sqrt as complex_sqrt
from ep.include.number_kind import Kind
from ep.include.primitive.binary_op import BinaryOp


@functor(BinaryOp.kReciprocalBackwardWithDyX)
def reciprocal_backward(m: MathLibrary) -> Function:
    """-dy / x^2."""
    divide = m.use(quotient)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return divide(-dy, x, x)

    return f


@functor(BinaryOp.kReciprocalNoNanBackwardWithDyX)
def reciprocal_no_nan_backward(m: MathLibrary) -> Function:
    """-dy / x^2, 0 where x is 0."""
    zero, divide, result = m.T(0), m.use(quotient), m.use(unless_nan)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return result(zero if x == zero else divide(-dy, x, x), dy, x)

    return f


@functor(BinaryOp.kSqrtBackwardWithDyX)
def sqrt_backward(m: MathLibrary) -> Function:
    """dy / (2 sqrt x)."""
    sqrt = m.sqrt

    def f(dy: Scalar, x: Scalar) -> Scalar:
        s = sqrt(x)
        return dy / (s + s)

    return f


@functor(BinaryOp.kSqrtBackwardWithDyX, kinds=(Kind.COMPLEX,))
def complex_sqrt_backward(m: MathLibrary) -> Function:
    """dy / (2 conj(sqrt x))."""
    sqrt, divide = m.use(complex_sqrt), m.use(complex_div)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        s = sqrt(x)
        return divide(dy, complex(s.real + s.real, -(s.imag + s.imag)))

    return f


@functor(BinaryOp.kRsqrtBackwardWithDyX)
def rsqrt_backward(m: MathLibrary) -> Function:
    """-dy / (2 sqrt(x^3))."""
    sqrt, divide = m.sqrt, m.use(quotient)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        s = sqrt(x)
        # |x|: sqrt is -0 for -0 already, and NaN for all other negative numbers.
        return divide(-dy, s + s, abs(x))

    return f


@plain_functor(BinaryOp.kSquareBackwardWithDyX)
def square_backward(dy: Scalar, x: Scalar) -> Scalar:
    """2 x dy."""
    p = x * dy
    return p + p
