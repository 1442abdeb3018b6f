"""The functions in float32 arithmetic by name."""

from typing import Any, Final

from ep.cpu.vector_math.lookup import has_register_tables
from ep.cpu.vector_math.single import (
    activation,
    erfc_pieces,
    error_function,
    exponential,
    gate_pieces,
    hyperbolic,
    inverse_hyperbolic,
    inverse_trigonometric,
    logarithm,
    odd_pieces,
    power,
    root,
    sigmoid,
    softplus,
    trigonometric,
)

COMPUTED: Final[dict[str, Any]] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "pow": power.pow,
    "erf": error_function.erf,
    "erfc": error_function.erfc,
    "gelu": error_function.gelu,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "sinh": hyperbolic.sinh,
    "cosh": hyperbolic.cosh,
    "tanh": hyperbolic.tanh,
    "asinh": inverse_hyperbolic.asinh,
    "acosh": inverse_hyperbolic.acosh,
    "atanh": inverse_hyperbolic.atanh,
    "asin": inverse_trigonometric.asin,
    "acos": inverse_trigonometric.acos,
    "atan": inverse_trigonometric.atan,
    "rsqrt": root.rsqrt,
    "sigmoid": sigmoid.sigmoid,
    "logsigmoid": softplus.logsigmoid,
    "soft_plus": softplus.soft_plus,
    "silu": activation.silu,
    "quick_gelu": activation.quick_gelu,
    "fast_gelu": activation.fast_gelu,
    "mish": activation.mish,
}
"""Those that every processor can run."""

SHORTER: Final[dict[str, Any]] = {
    "tanh": odd_pieces.tanh,
    "erf": odd_pieces.erf,
    "rsqrt": root.rsqrt_by_instruction,
    "asinh": odd_pieces.asinh,
    "erfc": erfc_pieces.erfc,
    "gelu": gate_pieces.gelu,
    "fast_gelu": gate_pieces.fast_gelu,
    "quick_gelu": gate_pieces.quick_gelu,
    "silu": gate_pieces.silu,
    "mish": gate_pieces.mish,
    "sigmoid": gate_pieces.sigmoid,
    "logsigmoid": gate_pieces.logsigmoid,
}
"""What takes the place of some of them where `has_register_tables()`."""

SINGLE: Final[dict[str, Any]] = COMPUTED | SHORTER if has_register_tables() else COMPUTED
"""float32 to float32; sin, cos and tan only up to their LIMIT."""
