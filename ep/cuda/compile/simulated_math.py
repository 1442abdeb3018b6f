"""Elementary functions on NumPy scalars, for Numba's simulator: NumPy's and libm's in float64, rounded to the type."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from typing import Any

import numpy as np

from ep.common.functor.math_library import ELEMENTARY, Function

_NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"} | {
    **{"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "pow": "power"},
}


def _lgamma() -> Function:
    """The C library's, which is relatively accurate at the roots, as Python's own is not."""
    function = ctypes.CDLL(ctypes.util.find_library("m")).lgamma
    function.argtypes, function.restype = [ctypes.c_double], ctypes.c_double
    return function


_OWN = {"erf": math.erf, "erfc": math.erfc, "lgamma": _lgamma(), "rsqrt": lambda x: np.float64(1) / np.sqrt(x)}


def elementary_functions(real_type: Any) -> dict[str, Function]:
    """The functions of `ELEMENTARY` from and to `real_type`."""
    return {
        name: _rounded(_OWN.get(name) or getattr(np, _NUMPY_NAMES.get(name, name)), real_type) for name in ELEMENTARY
    }


def _rounded(function: Function, real_type: Any) -> Function:
    def f(*args: Any) -> Any:
        return real_type(function(*map(np.float64, args)))

    return f
