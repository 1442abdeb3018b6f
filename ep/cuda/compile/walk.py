"""The walk over the axes of a launch: from the number of an element to the offsets of the operands."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.cuda.compile.index_math import index_math
from ep.cuda.compile.numba_cuda import device_function


@cache
def walk(num_axes: int, num_operands: int, bits: int) -> Any:
    """Return `offsets(n, words)`: the tuple of the operands' offsets, as words, at element `n`, a word.

    words: those of `plan.walk_words`. Unrolled over the axes: each but the outermost costs a multiplication for the
    quotient, one for the remainder and one for each offset that is used.
    """
    narrow, *_, widen = index_math(bits)
    steps, zeros = _steps(num_axes, num_operands, bits), (0,) * num_operands
    narrowed, widened = _each(narrow, num_operands), _each(widen, num_operands)
    return device_function(lambda n, words: widened(steps(narrow(n), narrowed(zeros), words)))


@cache
def _steps(num_axes: int, num_operands: int, bits: int) -> Any:
    narrow, quotient, _, remainder, *_ = index_math(bits)
    advanced, of_axis = _advanced(num_operands, bits), num_operands + 3

    if num_axes == 1:
        return device_function(lambda n, offsets, words: advanced(n, offsets, words))

    outer = _steps(num_axes - 1, num_operands, bits)

    def axis(n, offsets, words):
        size, multiplier, shift = words[num_operands], words[num_operands + 1], words[num_operands + 2]
        row = quotient(n, narrow(multiplier), narrow(shift))
        return outer(row, advanced(remainder(n, row, narrow(size)), offsets, words), words[of_axis:])

    return device_function(axis)


@cache
def _advanced(num_operands: int, bits: int) -> Any:
    """(place, offsets, words) -> each offset plus place times the operand's stride, the first of the words."""
    narrow, _, multiply_add, *_ = index_math(bits)
    one = device_function(lambda place, offsets, words: (multiply_add(place, narrow(words[0]), offsets[0]),))
    if num_operands == 1:
        return one
    rest = _advanced(num_operands - 1, bits)
    return device_function(
        lambda place, offsets, words: one(place, offsets, words) + rest(place, offsets[1:], words[1:])
    )


@cache
def _each(function: Any, count: int) -> Any:
    """The function on each element of a tuple."""
    one = device_function(lambda values: (function(values[0]),))
    if count == 1:
        return one
    rest = _each(function, count - 1)
    return device_function(lambda values: one(values) + rest(values[1:]))
