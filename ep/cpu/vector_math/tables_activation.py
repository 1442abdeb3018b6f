"""The activations and the reciprocal square root by name."""

from typing import Any, Final

from ep.cpu.vector_math import activation, root, sigmoid
from ep.cpu.vector_math.tabled.functions import with_tables

ACTIVATION_GENERIC: Final[dict[str, Any]] = {
    "silu": activation.silu,
    "quick_gelu": activation.quick_gelu,
    "fast_gelu": activation.fast_gelu,
    "mish": activation.mish,
    "soft_plus": sigmoid.soft_plus,
    "rsqrt": root.rsqrt,
}
"""float64 to float64, on any processor."""

ACTIVATION: Final[dict[str, Any]] = with_tables(ACTIVATION_GENERIC)
"""The same, by tables where the processor has them."""
