"""Integer arithmetic of indices and offsets in kernels, in 32 bits if all numbers are below 2^31, else in 64.

Numba computes with integers in 64 bits whatever their types; these functions keep to their width.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ep.cuda.compile.numba_cuda import cgutils, intrinsic, ir, types


class IndexMath(NamedTuple):
    """Functions of numbers that are not negative; `narrow` converts words to such numbers.

    quotient(n, multiplier, shift): n divided by the divisor of a FastIntegerMath.
    multiply_add(a, b, c): a b + c. remainder(n, quotient, divisor): n - quotient divisor.
    minus(a, b): a - b modulo 2^bits, so a negative difference is a very large number; is_below(a, b): a < b.
    widen(n): the number as a word.
    """

    narrow: Any
    quotient: Any
    multiply_add: Any
    remainder: Any
    minus: Any
    is_below: Any
    widen: Any


@cache
def index_math(bits: int) -> IndexMath:
    """Return the arithmetic of `bits` (32 or 64) bits."""
    narrow_type = ir.IntType(bits)
    name = "llvm.nvvm.mulhi.ui" if bits == 32 else "llvm.nvvm.mulhi.ull"
    number = types.Integer.from_bitwidth(bits, False)

    @intrinsic
    def narrow(typing_context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.trunc(args[0], narrow_type) if bits == 32 else args[0]

        return number(types.int64), generate

    @intrinsic
    def quotient(typing_context: Any, n: Any, multiplier: Any, shift: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            function_type = ir.FunctionType(narrow_type, [narrow_type] * 2)
            upper_half = cgutils.get_or_insert_function(builder.module, function_type, name)
            upper = builder.call(upper_half, args[:2])
            return builder.lshr(builder.add(upper, args[0]), args[2])

        return number(number, number, number), generate

    @intrinsic
    def multiply_add(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.add(builder.mul(args[0], args[1]), args[2])

        return number(number, number, number), generate

    @intrinsic
    def remainder(typing_context: Any, n: Any, quotient: Any, divisor: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.sub(args[0], builder.mul(args[1], args[2]))

        return number(number, number, number), generate

    @intrinsic
    def minus(typing_context: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.sub(args[0], args[1])

        return number(number, number), generate

    @intrinsic
    def is_below(typing_context: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.icmp_unsigned("<", args[0], args[1])

        return types.boolean(number, number), generate

    @intrinsic
    def widen(typing_context: Any, n: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.zext(args[0], ir.IntType(64)) if bits == 32 else args[0]

        return types.int64(number), generate

    return IndexMath(narrow, quotient, multiply_add, remainder, minus, is_below, widen)
