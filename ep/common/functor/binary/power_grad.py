"""The gradients of a power with a constant exponent or a constant base. Their operands are (x, dy)."""

import numpy as np

from ep.common.functor.binary.gradient import square_product, unless_nan
from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor, plain_functor
from ep.include.number_kind import Kind
from ep.include.primitive.binary_op import BinaryOp


@functor(BinaryOp.kScalarBasePowerGrad)
def base_power_grad(m: MathLibrary) -> Function:
    """c x^(c - 1) dy for the exponent c.

    |x|^(c - 1) is computed as a square whose factors are multiplied by dy one at a time: the product can be a normal
    number even if the power is not. c - 1 is exact from c = 1/2 on. Below that, its rounding error would grow with ln
    |x|, so |x|^c / |x| replaces the power, or rather the roots of both.
    """
    zero, half, one, infinity, nan = m.T(0), m.T(0.5), m.T(1), m.T(np.inf), m.T(np.nan)
    largest = m.T(np.finfo(m.T).max)
    power, sqrt, floor, copysign = m.pow, m.sqrt, m.floor, m.copysign
    multiply, result = m.use(square_product), m.use(unless_nan)

    def f(x: Scalar, dy: Scalar, c: Scalar) -> Scalar:
        a = abs(x)
        divide = (c < half) & (a != zero) & (a < infinity)
        p = power(a, half * (c if divide else c - one))
        root = p / sqrt(a) if divide else p
        # 0 times a power that overflows is still 0, unless the power is infinite
        root = largest if (dy == zero) & (root > largest) & (a != zero) & (a < infinity) else root
        g = multiply(dy, c, root)
        # x < 0: an odd c - 1 changes the sign; one that is not an integer has a meaning only for -0 and -inf.
        if floor(c) == c:
            g = copysign(one, x) * g if floor(half * c) == half * c else g
        else:
            g = nan if (x < zero) & (a < infinity) else g
        return result(g, x, dy)

    return f


@functor(BinaryOp.kScalarExpPowerGrad)
def exp_power_grad(m: MathLibrary) -> Function:
    """c^x ln(c) dy for the base c.

    c^x is computed as the square of c^(x / 2), whose factors are multiplied by dy one at a time: the product can be a
    normal number even if c^x is not.
    """
    zero, half, infinity, largest = m.T(0), m.T(0.5), m.T(np.inf), m.T(np.finfo(m.T).max)
    power, log = m.pow, m.log
    multiply, result = m.use(square_product), m.use(unless_nan)

    def f(x: Scalar, dy: Scalar, c: Scalar) -> Scalar:
        exponent = half * x
        # Half of the smallest number is 0, and 0^0 is not 0^x.
        p = power(c, x if exponent == zero else exponent)
        # 0 times a power that overflows is still 0, unless the power is infinite
        p = largest if (dy == zero) & (p > largest) & (abs(x) < infinity) & (c > zero) & (c < infinity) else p
        return result(multiply(dy, log(c), p), x, dy)

    return f


@functor(BinaryOp.kScalarBasePowerGrad, kinds=(Kind.BOOL, Kind.INTEGER))
def integer_base_power_grad(m: MathLibrary) -> Function:
    """c x^(c - 1) dy in float64."""
    one = np.float64(1)

    def f(x: Scalar, dy: Scalar, c: Scalar) -> Scalar:
        return c * np.float64(x) ** (c - one) * np.float64(dy)

    return f


@plain_functor(BinaryOp.kScalarExpPowerGrad, kinds=(Kind.BOOL, Kind.INTEGER))
def integer_exp_power_grad(x: Scalar, dy: Scalar, c: Scalar) -> Scalar:
    """c^x ln(c) dy in float64."""
    return c ** np.float64(x) * np.log(c) * np.float64(dy)
