"""The functions made of tables by name."""

from collections.abc import Mapping
from typing import Any, Final

from ep.cpu.vector_math.lookup import has_register_tables
from ep.cpu.vector_math.tabled import activation, exponential, hyperbolic, logarithm, sigmoid, trigonometric

TABLED: Final[dict[str, Any]] = {
    **{name: getattr(exponential, name) for name in ("exp", "exp2", "expm1")},
    **{name: getattr(logarithm, name) for name in ("log", "log2", "log10", "log1p")},
    **{name: getattr(trigonometric, name) for name in ("sin", "cos", "tan")},
    **{name: getattr(activation, name) for name in ("silu", "quick_gelu", "fast_gelu")},
    **{name: getattr(hyperbolic, name) for name in ("tanh", "asinh", "acosh", "atanh")},
    **{name: getattr(sigmoid, name) for name in ("sigmoid", "softplus", "logsigmoid")},
}
"""float64 to float64."""


def with_tables(functions: Mapping[str, Any]) -> dict[str, Any]:
    """The same functions, by tables those that there are, where the processor has tables in registers."""
    if not has_register_tables():
        return dict(functions)
    return {name: TABLED.get(name, function) for name, function in functions.items()}
