"""Long polynomials as trees of fused multiply-adds."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

_DOUBLE = ir.DoubleType()


def polynomial_tree(*coefficients: float) -> Any:
    """Return the compiled function of x: the polynomial with `coefficients`, the constant one first.

    By Horner for the last two steps, whose rounding errors count; before them neighbours are joined in pairs, with
    x, x^2, x^4, ... (Estrin). `polynomial` has fewer instructions, but its chains take long: where the polynomial is
    half of what a core can have in flight, it would not overlap with the next iteration.
    """

    @intrinsic
    def evaluate(typing_context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            fma = builder.module.declare_intrinsic("llvm.fma", [_DOUBLE], ir.FunctionType(_DOUBLE, [_DOUBLE] * 3))
            constant, linear, *terms = [ir.Constant(_DOUBLE, c) for c in coefficients]
            power = args[0]
            while len(terms) > 1:
                joined = [builder.call(fma, [b, power, a]) for a, b in zip(terms[::2], terms[1::2], strict=False)]
                terms = [*joined, *terms[2 * len(joined) :]]
                power = builder.call(fma, [power, power, ir.Constant(_DOUBLE, 0.0)])
            return builder.call(fma, [builder.call(fma, [*terms, args[0], linear]), args[0], constant])

        return types.float64(types.float64), generate

    return evaluate
