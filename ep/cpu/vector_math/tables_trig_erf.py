"""The functions of trigonometry and the error function by name."""

from typing import Any, Final

from ep.cpu.vector_math import error_function, inverse_trigonometric, narrow_trig_erf, trigonometric
from ep.cpu.vector_math.tabled.functions import with_tables

_MODULES = {
    **dict.fromkeys(("sin", "cos", "tan"), trigonometric),
    **dict.fromkeys(("asin", "acos", "atan"), inverse_trigonometric),
    **dict.fromkeys(("erf", "erfc", "gelu"), error_function),
}

TRIG_ERF_GENERIC: Final[dict[str, Any]] = {name: getattr(module, name) for name, module in _MODULES.items()}
"""float64 to float64, on any processor; sin, cos and tan only up to their LIMITS."""

TRIG_ERF: Final[dict[str, Any]] = with_tables(TRIG_ERF_GENERIC)
"""The same, by tables where the processor has them."""

TRIG_ERF_NARROW: Final[dict[str, Any]] = {name: getattr(narrow_trig_erf, name) for name in ("sin", "cos", "erfc")}
"""float64 to float64 for float32 values (hence float16 and bfloat16 values), to be rounded to float32 or narrower: what
is called by ops that float32 arithmetic is not fit for."""

LIMITS: Final[dict[str, float]] = dict.fromkeys(("sin", "cos", "tan"), trigonometric.LIMIT)
"""The largest magnitude that a function is good for, where there is one."""
