"""Words of up to four bytes that come from several places, by PTX's byte permute, `prmt`."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.cuda.compile.instructions import Instructions, integer_of, written
from ep.cuda.compile.kernel_words import Words
from ep.cuda.compile.memory import GLOBAL
from ep.cuda.compile.numba_cuda import device_function, types

_WORD = integer_of(32)


def _permuted(code: Instructions, selector: Any, low: Any, high: Any) -> Any:
    """Write prmt: each digit of the selector names a byte, 0 to 3 those of the low word, 4 to 7 those of the high one.

    selector: a Python number, or a value.
    """
    low, high = code.extend(low, _WORD), code.extend(high, _WORD)
    if isinstance(selector, int):
        return code.ptx(f"prmt.b32 $0, $1, $2, {selector:#06x};", "=r,r,r", _WORD, low, high)
    return code.ptx("prmt.b32 $0, $1, $2, $3;", "=r,r,r,r", _WORD, low, high, selector)


@written(types.int32, types.int8, types.int8, types.int8, types.int8)
def join(code: Instructions, a: Any, b: Any, c: Any, d: Any) -> Any:
    """join(a, b, c, d): the word of these bytes, lowest first."""
    a, b, c, d = (code.extend(byte, _WORD) for byte in (a, b, c, d))
    return _permuted(code, 0x5410, _permuted(code, 0x0040, a, b), _permuted(code, 0x0040, c, d))


@written(types.int32, types.int64)
def load_any(code: Instructions, address: Any) -> Any:
    """load_any(address): the word at any address, from the two aligned words that begin at most three bytes before it.

    All eight bytes of these are read.
    """
    before = code.and_(code.truncate(address, _WORD), 3)
    aligned = code.pointer(code.and_(address, -4), _WORD, 1, GLOBAL)
    (low,), (high,) = code.load(aligned, 0, 1, 4), code.load(aligned, 1, 1, 4)
    return _permuted(code, code.add(code.multiply(before, 0x1111), 0x3210), low, high)


@cache
def repeat(bits: int) -> Any:
    """Return `word(a, b, number)`: `number` > 0 times the byte a, then b; a alone if the number is 4 or more.

    bits: those of the number.
    """

    @written(types.int32, types.int8, types.int8, types.Integer.from_bitwidth(bits, False))
    def word(code: Instructions, a: Any, b: Any, number: Any) -> Any:
        some = code.select(code.compare("<", number, 4), number, code.constant(code.kind_of(number), 4))
        selector = code.shift_left(code.constant(_WORD, 0x4444), code.shift_left(code.truncate(some, _WORD), 2))
        return _permuted(code, selector, a, b)

    return word


@cache
def square_transposer(unit: int, side: int) -> Any:
    """Return `transpose(words)`, in registers: element i of word j, of `side` words of `side` elements, becomes element
    j of word i.

    unit: the bytes of an element; side: 1, 2 or 4, a word has 4 bytes at most.
    """
    if side == 1:
        return device_function(lambda words: words)
    bits = 8 * unit * side
    if side == 4:
        low, high = _permute(0x5140, bits), _permute(0x7362, bits)
        first, second = _permute(0x5410, bits), _permute(0x7632, bits)

        def four(words: Words) -> Any:
            a, b = low(words[0], words[1]), low(words[2], words[3])
            c, d = high(words[0], words[1]), high(words[2], words[3])
            return first(a, b), second(a, b), first(c, d), second(c, d)

        return device_function(four)
    first, second = (0x5410, 0x7632) if unit == 2 else (0x0040, 0x0051)
    one, other = _permute(first, bits), _permute(second, bits)
    return device_function(lambda words: (one(words[0], words[1]), other(words[0], words[1])))


def _permute(selector: int, bits: int) -> Any:
    """Return `permute(a, b)` of words of so many bits, by a constant selector."""
    number, word = types.Integer.from_bitwidth(bits, False), integer_of(bits)

    @written(number, number, number)
    def permute(code: Instructions, a: Any, b: Any) -> Any:
        return code.truncate(_permuted(code, selector, a, b), word)

    return permute
