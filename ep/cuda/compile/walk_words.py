"""Walks in the form for kernels: the words of a launch that depend only on dims and strides."""

from __future__ import annotations

from collections.abc import Sequence

from ep.common.fast_integer_math import FastIntegerMath
from ep.common.primitive.region_copy import RegionCopy
from ep.common.primitive.strides import contiguous_strides


def walk_words(dims: Sequence[int], strides: Sequence[Sequence[int]], bits: int) -> tuple[int, ...]:
    """Return the words, for `walk.walk`, of a walk over `dims` in which operands advance by `strides`.

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
    """Return the number of words of `walk_words` for a number of axes and operands."""
    return (num_operands + 3) * num_axes - 3 if num_axes else 0


def region_words(box: RegionCopy, bits: int) -> tuple[int, ...]:
    """Return the words of a walk over all of dst that finds the box of src in it.

    The kernels of `engine.move.pad` use it.

    Per axis, the innermost first: the stride of src, the start of the box in dst, and its size; and for all but the
    outermost the size of dst with its multiplier and shift.
    """
    words: list[int] = []
    strides = contiguous_strides(box.src_dims)
    for axis in range(len(strides) - 1, -1, -1):
        words += strides[axis], box.dst_pos[axis], max(box.extent[axis], 0)
        if axis:
            words += FastIntegerMath(box.dst_dims[axis], bits).words()
    return tuple(words)


def num_box_words(num_axes: int) -> int:
    """Return the number of words of `region_words` for a number of axes."""
    return 6 * num_axes - 3
