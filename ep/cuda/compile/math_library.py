"""The elementary functions of CUDA: libdevice's, in the type of arithmetic.

Documented errors of libdevice, in ulps of float32: 2 or less for most, 3 for sinh, asinh and atanh, 4 for tan, acosh,
erfc and pow, 6 for lgamma outside (-10, -2.3). In float64 they are 2 or less, except for erfc (5) and lgamma (4).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ep.common.functor.math_library import ELEMENTARY, REAL_TYPES, Function, MathLibrary, ScalarType
from ep.cuda.compile.integer_division import OVERRIDES
from ep.cuda.compile.narrow_math import NARROW_OVERRIDES
from ep.cuda.compile.numba_cuda import device_function, libdevice


def _libdevice(real_type: ScalarType) -> dict[str, Function]:
    suffix = "f" if real_type is np.float32 else ""
    return {name: getattr(libdevice, name + suffix) for name in ELEMENTARY}


@cache
def higher(scalar_type: ScalarType) -> Function:
    """Return f(top, x): the larger one of a maximum and an element; NaN is not larger."""
    if scalar_type is np.float32:
        return libdevice.fmaxf  # type: ignore[no-any-return]  # one instruction
    return device_function(lambda top, x: x if x > top else top)


@cache
def cuda_math_library(scalar_type: ScalarType, is_narrow: bool = False) -> MathLibrary:
    """Return the library for arithmetic in `scalar_type`, the same object at every call.

    is_narrow: whether operands and results have 16 bits, so that less accurate functions are used where available.
    Complex types get the elementary functions of their parts, integers and bool only `fma` in float64.
    """
    real_type = REAL_TYPES.get(scalar_type)
    elementary = {"fma": libdevice.fma} if real_type is None else _libdevice(real_type)
    overrides = OVERRIDES | NARROW_OVERRIDES if is_narrow else OVERRIDES
    return MathLibrary(scalar_type, elementary, device_function, overrides)
