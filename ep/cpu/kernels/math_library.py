"""The elementary functions of the CPU: libm's, called element by element, and this package's, which LLVM vectorises."""

import math
from collections import ChainMap
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from ep.common.functor import stable
from ep.common.functor.binary import activation_backward
from ep.common.functor.math_library import REAL_TYPES, Function, Maker, MathLibrary, Scalar
from ep.common.functor.unary import activation, special
from ep.common.native.emitted import emitted
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import DOUBLE, call
from ep.cpu.vector_math.bits import fma
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.sets.names import FLOAT32, FLOAT64, Forms, OfThisProcessor


class Precision(Enum):
    """The set of elementary functions of a library."""

    LIBM = "libm's"
    FULL = "vectorised, in float64"
    SINGLE = "vectorised, in float32"


_INSTRUCTIONS = frozenset(("sqrt", "floor", "ceil", "trunc", "rint", "copysign", "fmod", "fma"))

_LIBM: dict[str, Function] = {
    **{name: getattr(math, name) for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt")},
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: getattr(math, name) for name in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")},
    **{name: getattr(math, name) for name in ("erf", "erfc", "lgamma", "copysign")},
    # math.floor, ceil and trunc return integers.
    **{name: getattr(np, name) for name in ("floor", "ceil", "trunc", "rint", "fmod")},
    "fma": fma,
}


def _elementary(name: str) -> Maker:
    """Return a maker that returns a library's own function of that name."""
    return lambda m: getattr(m, name)


def _vectorised(forms: Mapping[str, Forms]) -> tuple[dict[Maker, Maker], OfThisProcessor]:
    """Return the overrides for vectorised functions, and these functions by name."""
    return {maker: _elementary(name) for name, maker in _MAKERS.items() if name in forms}, OfThisProcessor(forms)


_MAKERS = {
    "sigmoid": stable.sigmoid,
    "softplus": stable.softplus,
    "soft_plus": activation.soft_plus,
    "logsigmoid": activation.log_sigmoid,
    "gelu": activation.gelu,
    "silu": activation.silu,
    "quick_gelu": activation.quick_gelu,
    "fast_gelu": activation.fast_gelu,
    "mish": activation.mish,
    "digamma": special.digamma,
    "trigamma": special.trigamma,
    "gelu_backward": activation_backward.gelu_backward,
    "fast_gelu_backward": activation_backward.fast_gelu_backward,
    "quick_gelu_backward": activation_backward.quick_gelu_backward,
    "silu_backward": activation_backward.silu_backward,
    "mish_backward": activation_backward.mish_backward,
    "softplus_backward": activation_backward.softplus_backward,
}
"""The makers that vectorised functions replace, by the name of the function."""

_VECTORISED = {
    Precision.FULL: _vectorised(FLOAT64),
    Precision.SINGLE: _vectorised(FLOAT32),
}


def _rsqrt(real_type: type[np.floating]) -> Function:
    one, sqrt = real_type(1), math.sqrt

    def f(x: Scalar) -> Scalar:
        return one / sqrt(x)

    return jit(f)


@emitted("float64", x="float64", y="float64")
def _pow_of_libm(builder: Any, x: Any, y: Any) -> Any:
    """Call C's pow as a function that LLVM knows nothing of: it would compute powers of a constant in another way."""
    value = call(builder, "pow", DOUBLE, x, y)
    builder.module.get_global("pow").attributes.add("nobuiltin")
    return value


def _pow(real_type: type[np.floating]) -> Function:
    def f(x: Scalar, y: Scalar) -> Scalar:
        return real_type(_pow_of_libm(x, y))

    return jit(f)


class _Names(dict[str, Function]):
    """A placeholder for elementary functions that records the requested names."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()

    def __missing__(self, name: str) -> Function:
        self.asked.add(name)
        return max  # not called


@cache
def elementary_functions_of(maker: Maker) -> frozenset[str]:
    """Return the elementary functions that the functor of `maker` calls, except those that are single instructions."""
    names = _Names()
    whole = {_MAKERS[name]: _elementary(name) for name in ("digamma", "trigamma")}
    MathLibrary(np.float64, names, lambda function: function, whole).use(maker)
    return frozenset(names.asked - _INSTRUCTIONS)


@cache
def cpu_math_library(scalar_type: type[np.generic], precision: Precision = Precision.LIBM) -> MathLibrary:
    """Return the library for arithmetic in `scalar_type`, the same object at every call.

    Complex types get the elementary functions of their parts, integers and bool only `fma` in float64.
    """
    real_type = REAL_TYPES.get(scalar_type)
    if real_type is None:
        return MathLibrary(scalar_type, {"fma": fma}, inlined)
    elementary = {**_LIBM, "rsqrt": _rsqrt(real_type), "pow": _pow(real_type)}
    if precision is Precision.LIBM:
        return MathLibrary(scalar_type, elementary, inlined)
    overrides, functions = _VECTORISED[precision]
    return MathLibrary(scalar_type, ChainMap(functions, elementary), inlined, overrides)
