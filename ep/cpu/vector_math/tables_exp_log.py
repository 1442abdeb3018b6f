"""The functions of exp and log by name."""

from typing import Any, Final

from ep.cpu.vector_math import exponential, hyperbolic, logarithm, narrow, power, sigmoid
from ep.cpu.vector_math.tabled.functions import with_tables

_NAMES = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "softplus", "logsigmoid"),
)

EXP_LOG_GENERIC: Final[dict[str, Any]] = {
    name: getattr(module, name)
    for module in (exponential, logarithm, power, hyperbolic, sigmoid)
    for name in _NAMES
    if getattr(module, name, None) is not None and getattr(module, name).__module__ == module.__name__
}
"""float64 to float64, on any processor."""

EXP_LOG: Final[dict[str, Any]] = with_tables(EXP_LOG_GENERIC)
"""The same, by tables where the processor has them."""

_NARROW = ("exp", "exp2", "exp_product", "exp2_product", "log", "pow", "sinh", "cosh", "softplus", "soft_plus")

EXP_LOG_NARROW: Final[dict[str, Any]] = {name: getattr(narrow, name) for name in _NARROW}
"""float64 to float64 for float32 values (hence float16 and bfloat16 values), to be rounded to float32 or narrower: what
is called by ops that float32 arithmetic is not fit for."""
