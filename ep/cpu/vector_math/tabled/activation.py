"""silu and quick_gelu in float64 by tables."""

from ep.cpu.vector_math.activation import gated_activations
from ep.cpu.vector_math.tabled.sigmoid import gated

silu, quick_gelu = gated_activations(gated)
