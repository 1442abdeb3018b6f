"""Products with powers of two, beyond the exponents of normal numbers."""

from collections.abc import Callable
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


@inlined
def _by_two_factors(y: float, n: int) -> float:
    half = shift_right(n + 4096, 1) - 2048
    return (y * from_bits((half << 52) + _ONE)) * from_bits(((n - half) << 52) + _ONE)


# there are vscalefpd and the conversion of its exponents to floats; else ldexp is a call
_has_instruction = of_kernels().is_x86_64 and of_kernels().has("avx512f", "avx512dq", "avx512vl")
scaled: Callable[[float, int], float] = _ldexp if _has_instruction else _by_two_factors
"""The function (y, n) of y 2^n for |n| < 2000, rounded once if y is between 2^-64 and 2^64."""
