"""The backward ops of the piecewise linear activation functions."""

from ep.common.functor.binary.gradient import unless_nan
from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor, plain_functor
from ep.include.primitive.binary_op import BinaryOp


@plain_functor(BinaryOp.kIdentityBackwardWithDyX)
def identity_backward(dy: Scalar, x: Scalar) -> Scalar:
    """dy; x is not used."""
    return dy


@functor(BinaryOp.kReluBackwardWithDyX, BinaryOp.kReluBackwardWithDyY)
def relu_backward(m: MathLibrary) -> Function:
    """0 up to 0, dy above; the same for x and for y = max(x, 0)."""
    zero, result = m.T(0), m.use(unless_nan)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return result(zero if x <= zero else dy, dy, x)

    return f


@functor(BinaryOp.kThresholdBackwardWithDyX)
def threshold_backward(m: MathLibrary) -> Function:
    """0 up to the threshold, dy above."""
    zero, result = m.T(0), m.use(unless_nan)

    def f(dy: Scalar, x: Scalar, threshold: Scalar) -> Scalar:
        return result(zero if x <= threshold else dy, dy, x)

    return f


@functor(BinaryOp.kLeakyReluBackwardWithDyX)
def leaky_relu_backward(m: MathLibrary) -> Function:
    """dy above 0, alpha dy up to it."""
    zero, result = m.T(0), m.use(unless_nan)

    def f(dy: Scalar, x: Scalar, alpha: Scalar) -> Scalar:
        return result(dy if x > zero else dy * alpha, dy, x)

    return f


@functor(BinaryOp.kHardswishBackwardWithDyX)
def hardswish_backward(m: MathLibrary) -> Function:
    """0 up to -3, dy from 3 on, (x / 3 + 1/2) dy between."""
    zero, half, three, result = m.T(0), m.T(0.5), m.T(3), m.use(unless_nan)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        inside = (x / three + half) * dy
        return result(zero if x <= -three else (dy if x >= three else inside), dy, x)

    return f


@functor(BinaryOp.kHardsigmoidBackwardWithDyX)
def hardsigmoid_backward(m: MathLibrary) -> Function:
    """dy / 6 between -3 and 3, else 0."""
    zero, three, six, result = m.T(0), m.T(3), m.T(6), m.use(unless_nan)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return result(zero if abs(x) >= three else dy / six, dy, x)

    return f


@functor(BinaryOp.kHardshrinkBackwardWithDyY, BinaryOp.kSoftshrinkBackwardWithDyY)
def shrink_backward(m: MathLibrary) -> Function:
    """0 where y is 0, else dy; the bound is not used."""
    zero, result = m.T(0), m.use(unless_nan)

    def f(dy: Scalar, y: Scalar, bound: Scalar) -> Scalar:
        return result(zero if y == zero else dy, dy, y)

    return f


@functor(BinaryOp.kHardtanhBackwardWithDyY)
def hardtanh_backward(m: MathLibrary) -> Function:
    """0 where y is one of the bounds, else dy."""
    zero, result = m.T(0), m.use(unless_nan)

    def f(dy: Scalar, y: Scalar, low: Scalar, high: Scalar) -> Scalar:
        return result(zero if (y == low) | (y == high) else dy, dy, y)

    return f


@functor(BinaryOp.kAbsBackwardWithDyX)
def abs_backward(m: MathLibrary) -> Function:
    """dy with the sign of x; 0 where x is 0."""
    zero, result = m.T(0), m.use(unless_nan)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        return result(zero if x == zero else (-dy if x < zero else dy), dy, x)

    return f


@functor(BinaryOp.kSquareReLUBackwardWithDyX)
def square_relu_backward(m: MathLibrary) -> Function:
    """2 x dy above 0, else 0."""
    zero, result = m.T(0), m.use(unless_nan)

    def f(dy: Scalar, x: Scalar) -> Scalar:
        p = x * dy
        return result(p + p if x > zero else zero, dy, x)

    return f
