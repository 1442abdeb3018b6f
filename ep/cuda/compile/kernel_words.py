"""The words of a launch: what a kernel gets, as records that the host makes by their fields.

    class Sizes(NamedTuple):
        rows: int
        cols: Divisor
        walk: Words

A kernel whose argument has such a class as its annotation reads `sizes.cols.shift`. A field is a word, a tuple of words
or another record; in PTX, each word is a parameter. The host passes the words of `flat(Sizes(...))`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias, get_type_hints

from ep.common.fast_integer_math import FastIntegerMath
from ep.common.primitive.region_copy import RegionCopy
from ep.common.primitive.strides import contiguous_strides

Words: TypeAlias = tuple[int, ...]
"""A tuple of words, whose number is another one for each variant of a kernel."""

Shape: TypeAlias = "int | tuple[type[tuple[Any, ...]], tuple[Shape | None, ...]] | None"
"""What one argument or field is: a word (None), so many words, or a record of a class with the shapes of its fields."""


class Divisor(NamedTuple):
    """A number, and the multiplier and the shift to divide by it: see `FastIntegerMath`."""

    value: int
    multiplier: int
    shift: int


def divisor(value: int, bits: int) -> Divisor:
    """Return a divisor for the arithmetic of so many bits."""
    return Divisor(*FastIntegerMath(value, bits).words())


def flat(record: tuple[Any, ...]) -> Iterator[int]:
    """Yield the words of a record in their order."""
    for field in record:
        if isinstance(field, tuple):
            yield from flat(field)
        else:
            yield field


def shapes_of(kernel: Callable[..., None], lengths: Sequence[int]) -> list[Shape]:
    """Return the shapes of a kernel's arguments, by their annotations; lengths: of the tuples of words, in order."""
    said, left = inspect.get_annotations(kernel, eval_str=True), iter(lengths)
    return [_shape(said.get(name), left) for name in inspect.signature(kernel).parameters]


def _shape(said: Any, lengths: Iterator[int]) -> Shape:
    if said == Words:
        return next(lengths)
    if not hasattr(said, "_fields"):
        return None
    hints = _hints(said)
    return said, tuple(_shape(hints[field], lengths) for field in said._fields)


@cache
def _hints(record: Any) -> dict[str, Any]:
    return get_type_hints(record)


def count_words(shapes: Sequence[Shape]) -> int:
    """Return how many words arguments or fields have."""
    return sum(1 if shape is None else shape if isinstance(shape, int) else count_words(shape[1]) for shape in shapes)


def walk_words(dims: Sequence[int], strides: Sequence[Sequence[int]], bits: int) -> tuple[int, ...]:
    """Return the words, for `walk.walk`, of a walk over `dims` in which operands advance by `strides`.

    Per axis, the innermost first: the stride of each operand; and for all but the outermost its size, multiplier and
    shift.
    """
    words: list[int] = []
    for axis in range(len(dims) - 1, -1, -1):
        words += (steps[axis] for steps in strides)
        if axis:
            words += divisor(dims[axis], bits)
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
            words += divisor(box.dst_dims[axis], bits)
    return tuple(words)


def num_box_words(num_axes: int) -> int:
    """Return the number of words of `region_words` for a number of axes."""
    return 6 * num_axes - 3
