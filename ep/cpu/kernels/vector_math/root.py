"""The reciprocal square root in float64."""

from ep.cpu.kernels.vector_math.bits import fma, select, sqrt
from ep.cpu.kernels.vector_math.inlined import inlined


@inlined
def rsqrt(x):  # type: ignore[no-untyped-def]
    """1 / sqrt(x), with one step of Newton's that makes the two roundings good; the limits are the quotient's own."""
    y = 1.0 / sqrt(x)
    product = fma(x, y, 0.0)
    rest = fma(-product, y, 1.0) - fma(x, y, -product) * y
    better = fma(0.5 * y, rest, y)
    return select((x > 0.0) & (x < float("inf")), better, y)
