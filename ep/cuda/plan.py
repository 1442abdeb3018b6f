"""Walks as kernels take them: the words of a launch that come from dims and strides alone."""

from __future__ import annotations

from collections.abc import Sequence

from ep.common.fast_integer_math import FastIntegerMath


def walk_words(dims: Sequence[int], strides: Sequence[Sequence[int]], bits: int) -> tuple[int, ...]:
    """The words of a walk over `dims`, in which operands step by `strides`; what `walk` of `kernels.walk` takes.

    Per axis, the innermost first: the stride of each operand; and for all but the outermost its size, multiplier and
    shift.
    """
    words: list[int] = []
    for axis in range(len(dims) - 1, -1, -1):
        words += (steps[axis] for steps in strides)
        if axis:
            words += FastIntegerMath(dims[axis], bits).words()
    return tuple(words)


def num_walk_words(num_axes: int, num_operands: int) -> int:
    """How many words `walk_words` gives for so many axes and operands."""
    return (num_operands + 3) * num_axes - 3 if num_axes else 0
