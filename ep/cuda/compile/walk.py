"""The walk over the axes of a launch: from the number of an element to the offsets of the operands."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.index_math import index_math
from ep.cuda.compile.kernel_words import Words
from ep.cuda.compile.numba_cuda import device_function


@cache
def walk(num_axes: int, num_operands: int, bits: int) -> Any:
    """Return `offsets(n, words)`: the tuple of the operands' offsets, as words, at element `n`, a word.

    words: those of `walk_words`. Each axis but the outermost costs a multiplication for the quotient, one for the
    remainder and one for each offset that is used.
    """
    narrow, quotient, multiply_add, remainder, *_, widen = index_math(bits)
    of_axis = num_operands + 3
    outermost = of_axis * (num_axes - 1)

    @written_out(device_function)
    def offsets(n: int, words: Words) -> Any:
        n, places = narrow(n), tuple(narrow(0) for _ in unrolled(range(num_operands)))
        for first in unrolled(range(0, outermost, of_axis)):
            strides, (size, multiplier, shift) = words[first:], words[first + num_operands : first + of_axis]
            row = quotient(n, narrow(multiplier), narrow(shift))
            place, n = remainder(n, row, narrow(size)), row
            places = tuple(multiply_add(place, narrow(strides[k]), places[k]) for k in unrolled(range(num_operands)))
        strides = words[outermost:]
        return tuple(widen(multiply_add(n, narrow(strides[k]), places[k])) for k in unrolled(range(num_operands)))

    return offsets
