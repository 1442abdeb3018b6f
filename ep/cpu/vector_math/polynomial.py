"""Polynomials as chains of fused multiply-adds."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic


def polynomial(*coefficients: float) -> Any:
    """Return the compiled function of x: the polynomial with `coefficients`, the constant one first, in the type of x.

    By Horner for the last two steps, whose rounding errors count. Before them the even and the odd part are two chains
    in x^2: a core overlaps them with each other, and more of the next iterations with both.
    """

    @intrinsic
    def evaluate(typing_context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
            real = args[0].type
            fma = builder.module.declare_intrinsic("llvm.fma", [real], ir.FunctionType(real, [real] * 3))

            def chain(variable: Any, values: Any) -> Any:
                *lower, value = values
                for coefficient in reversed(lower):
                    value = builder.call(fma, [value, variable, coefficient])
                return value

            constants = [ir.Constant(real, c) for c in coefficients]
            low, high = constants[:2], constants[2:]
            if len(high) > 3:
                square = builder.call(fma, [args[0], args[0], ir.Constant(real, 0.0)])
                high = [chain(args[0], [chain(square, high[0::2]), chain(square, high[1::2])])]
            return chain(args[0], [*low, *high])

        result = types.float32 if x == types.float32 else types.float64
        return result(result), generate

    return evaluate
