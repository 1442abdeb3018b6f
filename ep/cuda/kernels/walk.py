"""The walk over the axes of a launch: from the number of an element to the offsets of two operands."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.cuda.kernels.index_math import index_math
from ep.cuda.kernels.numba_cuda import device_function


@cache
def walk(num_axes: int, bits: int) -> Any:
    """Return `offsets(n, words)`: the offsets of both operands, as words, at element `n`, a word.

    words: those of `plan.walk_words`. Unrolled over the axes: each but the outermost costs a multiplication for the
    quotient, one for the remainder and one for each offset that is used.
    """
    narrow, _, _, _, widen = index_math(bits)
    steps = _steps(num_axes, bits)

    def offsets(n, words):  # type: ignore[no-untyped-def]
        zero = narrow(0)
        offset0, offset1 = steps(narrow(n), zero, zero, words)
        return widen(offset0), widen(offset1)

    return device_function(offsets)


@cache
def _steps(num_axes: int, bits: int) -> Any:
    narrow, quotient, multiply_add, remainder, _ = index_math(bits)

    if num_axes == 1:

        def outermost(n, offset0, offset1, words):  # type: ignore[no-untyped-def]
            return multiply_add(n, narrow(words[0]), offset0), multiply_add(n, narrow(words[1]), offset1)

        return device_function(outermost)

    outer = _steps(num_axes - 1, bits)

    def axis(n, offset0, offset1, words):  # type: ignore[no-untyped-def]
        row = quotient(n, narrow(words[3]), narrow(words[4]))
        place = remainder(n, row, narrow(words[2]))
        offset0 = multiply_add(place, narrow(words[0]), offset0)
        offset1 = multiply_add(place, narrow(words[1]), offset1)
        return outer(row, offset0, offset1, words[5:])

    return device_function(axis)
