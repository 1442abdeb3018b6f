"""Transposition of a square of small elements in registers: a word becomes one element of each word."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.cuda.compile.instructions import Instructions, integer_of, written
from ep.cuda.compile.numba_cuda import device_function, types


@cache
def turn(unit: int, side: int) -> Any:
    """turn(words): element i of word j, of `side` words of `side` elements, becomes element j of word i.

    unit: the bytes of an element; side: 1, 2 or 4, a word has 4 bytes at most.
    """
    if side == 1:
        return device_function(lambda words: words)
    bits = 8 * unit * side
    if side == 4:
        low, high = _selection(0x5140, bits), _selection(0x7362, bits)
        first, second = _selection(0x5410, bits), _selection(0x7632, bits)

        def four(words):
            a, b = low(words[0], words[1]), low(words[2], words[3])
            c, d = high(words[0], words[1]), high(words[2], words[3])
            return first(a, b), second(a, b), first(c, d), second(c, d)

        return device_function(four)
    first, second = (0x5410, 0x7632) if unit == 2 else (0x0040, 0x0051)
    one, other = _selection(first, bits), _selection(second, bits)
    return device_function(lambda words: (one(words[0], words[1]), other(words[0], words[1])))


def _selection(selector: int, bits: int) -> Any:
    """select(a, b): a word of bytes of two words, as by PTX's prmt: digit i selects byte i.

    Digits 0 to 3 name the bytes of a, 4 to 7 those of b, lowest first.
    """
    number, word, register = types.Integer.from_bitwidth(bits, False), integer_of(bits), integer_of(32)
    text = f"prmt.b32 $0, $1, $2, {selector:#06x};"

    @written(number, number, number)
    def select(code: Instructions, a: Any, b: Any) -> Any:
        selected = code.ptx(text, "=r,r,r", register, code.extend(a, register), code.extend(b, register))
        return code.truncate(selected, word)

    return select
