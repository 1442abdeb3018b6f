"""Integer arithmetic of indices and offsets in kernels, in 32 bits if all numbers are below 2^31, else in 64.

Numba computes with integers in 64 bits whatever their types; these functions keep to their width.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ep.cuda.compile.instructions import WORD, Instructions, integer_of, written
from ep.cuda.compile.kernel_words import Divisor
from ep.cuda.compile.numba_cuda import device_function, types


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
    narrow_kind = integer_of(bits)
    name = "llvm.nvvm.mulhi.ui" if bits == 32 else "llvm.nvvm.mulhi.ull"
    number = types.Integer.from_bitwidth(bits, False)

    @written(number, types.int64)
    def narrow(code: Instructions, word: Any) -> Any:
        return code.truncate(word, narrow_kind)

    @written(number, number, number, number)
    def quotient(code: Instructions, n: Any, multiplier: Any, shift: Any) -> Any:
        upper = code.call(name, narrow_kind, n, multiplier)
        return code.shift_right(code.add(upper, n), shift)

    @written(number, number, number, number)
    def multiply_add(code: Instructions, a: Any, b: Any, c: Any) -> Any:
        return code.add(code.multiply(a, b), c)

    @written(number, number, number, number)
    def remainder(code: Instructions, n: Any, quotient: Any, divisor: Any) -> Any:
        return code.subtract(n, code.multiply(quotient, divisor))

    @written(number, number, number)
    def minus(code: Instructions, a: Any, b: Any) -> Any:
        return code.subtract(a, b)

    @written(types.boolean, number, number)
    def is_below(code: Instructions, a: Any, b: Any) -> Any:
        return code.compare("<", a, b)

    @written(types.int64, number)
    def widen(code: Instructions, n: Any) -> Any:
        return code.extend(n, WORD)

    return IndexMath(narrow, quotient, multiply_add, remainder, minus, is_below, widen)


@cache
def divider(bits: int) -> Any:
    """Return divide(n, divisor): the quotient and the remainder of words."""
    narrow, quotient, _, remainder, *_, widen = index_math(bits)

    def divide(n: int, divisor: Divisor) -> Any:
        number = narrow(n)
        found = quotient(number, narrow(divisor.multiplier), narrow(divisor.shift))
        return widen(found), widen(remainder(number, found, narrow(divisor.value)))

    return device_function(divide)
