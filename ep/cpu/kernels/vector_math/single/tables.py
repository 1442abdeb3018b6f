"""The functions in float32 arithmetic by name."""

from typing import Any, Final

from ep.cpu.kernels.vector_math.single import activation, exponential, hyperbolic, sigmoid

SINGLE: Final[dict[str, Any]] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "tanh": hyperbolic.tanh,
    "sigmoid": sigmoid.sigmoid,
    "logsigmoid": sigmoid.logsigmoid,
    "silu": activation.silu,
    "quick_gelu": activation.quick_gelu,
    "fast_gelu": activation.fast_gelu,
    "mish": activation.mish,
}
"""float32 to float32."""
