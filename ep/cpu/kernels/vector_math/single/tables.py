"""The functions in float32 arithmetic by name."""

from typing import Any, Final

from ep.cpu.kernels.vector_math.single import exponential

SINGLE: Final[dict[str, Any]] = {
    "exp": exponential.exp,
}
"""float32 to float32."""
