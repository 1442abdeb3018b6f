"""Words of four bytes that come from several places."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.cuda.compile.instructions import Instructions, integer_of, written
from ep.cuda.compile.memory import GLOBAL
from ep.cuda.compile.numba_cuda import types

_WORD = integer_of(32)
_SELECT = "prmt.b32 $0, $1, $2, {};"
"""Each digit of the last operand names a byte of the other two: 0 to 3 those of the first, 4 to 7 of the second."""


def _selected(code: Instructions, digits: int, low: Any, high: Any) -> Any:
    return code.ptx(_SELECT.format(f"{digits:#06x}"), "=r,r,r", _WORD, low, high)


@written(types.int32, types.int8, types.int8, types.int8, types.int8)
def join(code: Instructions, a: Any, b: Any, c: Any, d: Any) -> Any:
    """join(a, b, c, d): the word of these bytes, lowest first."""
    a, b, c, d = (code.extend(byte, _WORD) for byte in (a, b, c, d))
    return _selected(code, 0x5410, _selected(code, 0x0040, a, b), _selected(code, 0x0040, c, d))


@written(types.int32, types.int64)
def load_any(code: Instructions, address: Any) -> Any:
    """load_any(address): the word at any address, from the two aligned words that begin at most three bytes before it.

    All eight bytes of these are read.
    """
    before = code.and_(code.truncate(address, _WORD), 3)
    aligned = code.pointer(code.and_(address, -4), _WORD, 1, GLOBAL)
    (low,), (high,) = code.load(aligned, 0, 1, 4), code.load(aligned, 1, 1, 4)
    digits = code.add(code.multiply(before, 0x1111), 0x3210)
    return code.ptx(_SELECT.format("$3"), "=r,r,r,r", _WORD, low, high, digits)


@cache
def repeat(bits: int) -> Any:
    """Return `word(a, b, number)`: `number` > 0 times the byte a, then b; a alone if the number is 4 or more.

    bits: those of the number.
    """

    @written(types.int32, types.int8, types.int8, types.Integer.from_bitwidth(bits, False))
    def word(code: Instructions, a: Any, b: Any, number: Any) -> Any:
        some = code.select(code.compare("<", number, 4), number, code.constant(code.kind_of(number), 4))
        digits = code.shift_left(code.constant(_WORD, 0x4444), code.shift_left(code.truncate(some, _WORD), 2))
        return code.ptx(_SELECT.format("$3"), "=r,r,r,r", _WORD, code.extend(a, _WORD), code.extend(b, _WORD), digits)

    return word
