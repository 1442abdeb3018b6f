"""The gated activations in float64 by tables."""

from ep.cpu.kernels.vector_math.activation import fast_gelu_terms, quick_gelu_terms, silu_terms
from ep.cpu.kernels.vector_math.inlined import inlined
from ep.cpu.kernels.vector_math.tabled.sigmoid import gated


@inlined
def silu(x):  # type: ignore[no-untyped-def]
    """x sigmoid(x)."""
    return gated(*silu_terms(x))


@inlined
def quick_gelu(x):  # type: ignore[no-untyped-def]
    """x sigmoid(1.702 x)."""
    return gated(*quick_gelu_terms(x))


@inlined
def fast_gelu(x):  # type: ignore[no-untyped-def]
    """x sigmoid(2 A (x + B x^3))."""
    return gated(*fast_gelu_terms(x))
