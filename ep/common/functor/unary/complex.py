"""Complex numbers: their parts, and the square root. The math library of a complex type works on the parts."""

import math

import numpy as np

from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.common.functor.table import functor, plain_functor
from ep.include.number_kind import Kind
from ep.include.primitive.unary_op import UnaryOp


@plain_functor(UnaryOp.kConj, kinds=(Kind.COMPLEX,))
def conj(z: Scalar) -> Scalar:
    """Return the complex conjugate: the imaginary part is negated."""
    return complex(z.real, -z.imag)


@plain_functor(UnaryOp.kReal, kinds=(Kind.COMPLEX,))
def real(z: Scalar) -> Scalar:
    """Return the real part."""
    return z.real


@plain_functor(UnaryOp.kImag, kinds=(Kind.COMPLEX,))
def imag(z: Scalar) -> Scalar:
    """Return the imaginary part."""
    return z.imag


@functor(UnaryOp.kRealGrad)
def real_grad(m: MathLibrary) -> Function:
    """Return the complex number dy + 0i."""
    zero = m.T(0)

    def f(dy: Scalar) -> Scalar:
        return complex(dy, zero)

    return f


@functor(UnaryOp.kImagGrad)
def imag_grad(m: MathLibrary) -> Function:
    """Return the complex number 0 + dy i."""
    zero = m.T(0)

    def f(dy: Scalar) -> Scalar:
        return complex(zero, dy)

    return f


@functor(UnaryOp.kSqrt, kinds=(Kind.COMPLEX,))
def sqrt(m: MathLibrary) -> Function:
    """Return the principal root, with C99's special values.

    With w = sqrt((|a| + |a + bi|) / 2) the root of a + bi is w + b/(2w) i for a >= 0, else |b|/(2w) +- w i. The
    numbers are first scaled by a power of 4, so that nothing overflows and no subnormal number loses bits.
    """
    real_type = type(m.T(0).real)
    zero, half, one, infinity = real_type(0), real_type(0.5), real_type(1), real_type(math.inf)
    digits = np.finfo(real_type).nmant + 1
    large, tiny = real_type(np.finfo(real_type).max / 8), real_type(np.finfo(real_type).tiny * 4)
    down, down_root = real_type(2.0**-4), real_type(2.0**2)
    up, up_root = real_type(4.0**digits), real_type(2.0**-digits)
    real_sqrt, copysign, fma = m.sqrt, m.copysign, m.fma

    def f(z: Scalar) -> Scalar:
        a, b = z.real, z.imag
        if abs(b) == infinity:
            return complex(infinity, b)
        if abs(a) == infinity:
            # b - b is 0, or NaN if b is.
            return complex(a, copysign(b - b, b)) if a > zero else complex(abs(b - b), copysign(infinity, b))
        if b == zero and a == zero:
            return complex(zero, b)
        longest = abs(a) if abs(a) > abs(b) else abs(b)
        scale = down if longest > large else (up if longest < tiny else one)
        back = down_root if longest > large else (up_root if longest < tiny else one)
        p, q = abs(a) * scale, abs(b) * scale
        long, short = (p, q) if p > q else (q, p)
        ratio = short / long
        w = real_sqrt(half * fma(long, real_sqrt(fma(ratio, ratio, one)), p))
        v = half * (q / w)
        w, v = w * back, v * back
        return complex(w, copysign(v, b)) if a >= zero else complex(v, copysign(w, b))

    return f
