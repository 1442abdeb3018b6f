"""Products with powers of two, beyond the exponents of normal numbers."""

from typing import Any

from ep.common.native.emitted import emitted
from ep.cpu.compile.target import of_kernels
from ep.cpu.compile.vectors import DOUBLE, call
from ep.cpu.vector_math.bits import from_bits, shift_right
from ep.cpu.vector_math.inlined import inlined

_ONE = 1023 << 52  # the bits of 1.0


@emitted("float64", y="float64")
def _ldexp(builder: Any, y: Any, n: Any) -> Any:
    return call(builder, "llvm.ldexp.f64.i64", DOUBLE, y, n)


def _has_scaling_instruction() -> bool:
    """Return whether there are vscalefpd and the conversion of its exponents to floats; else ldexp is a call."""
    return of_kernels().is_x86_64 and of_kernels().has("avx512f", "avx512dq", "avx512vl")


@inlined
def _by_instruction(y, n):
    return _ldexp(y, n)


@inlined
def _by_two_factors(y, n):
    half = shift_right(n + 4096, 1) - 2048
    return (y * from_bits((half << 52) + _ONE)) * from_bits(((n - half) << 52) + _ONE)


scaled = _by_instruction if _has_scaling_instruction() else _by_two_factors
"""The function (y, n) of y 2^n for |n| < 2000, rounded once if y is between 2^-64 and 2^64."""
