"""The elementary functions of the CPU: libm's, through Numba."""

import math
from functools import cache

import numpy as np

from ep.common.functor.math_library import Function, Maker, MathLibrary
from ep.cpu.kernels.jit import jit

_REAL_TYPES = {
    np.float32: np.float32,
    np.float64: np.float64,
    np.complex64: np.float32,
    np.complex128: np.float64,
}

_LIBM: dict[str, Function] = {
    **{name: getattr(math, name) for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt")},
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: getattr(math, name) for name in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")},
    **{name: getattr(math, name) for name in ("erf", "erfc", "lgamma", "copysign")},
    # math.floor, ceil and trunc give integers.
    **{name: getattr(np, name) for name in ("floor", "ceil", "trunc", "rint", "fmod")},
    # C's pow; Numba's `**` takes another way for constant integer exponents.
    "pow": math.pow,
}


def _rsqrt(real_type: type[np.floating]) -> Function:
    one, sqrt = real_type(1), math.sqrt

    def f(x):
        return one / sqrt(x)

    return jit(f)


class _Names(dict[str, Function]):
    """Stands in for elementary functions, and notes whether one that is not a single instruction is asked for."""

    asked = False

    def __missing__(self, name: str) -> Function:
        self.asked |= name not in _INSTRUCTIONS
        return max  # not called


_INSTRUCTIONS = frozenset(("sqrt", "floor", "ceil", "trunc", "rint", "copysign", "fmod"))


@cache
def calls_elementary_functions(maker: Maker) -> bool:
    """Whether the functor of `maker` calls exp, log, sin and their like; sqrt or floor, single instructions, are not."""
    names = _Names()
    maker(MathLibrary(np.float64, names, jit=lambda function: function))
    return names.asked


@cache
def cpu_math_library(scalar_type: type[np.generic]) -> MathLibrary:
    """Return the library for arithmetic in `scalar_type`, one and the same at every call.

    Complex types get the elementary functions of their parts; integers and bool get none.
    """
    real_type = _REAL_TYPES.get(scalar_type)
    elementary = {} if real_type is None else {**_LIBM, "rsqrt": _rsqrt(real_type)}
    return MathLibrary(scalar_type, elementary, jit)
