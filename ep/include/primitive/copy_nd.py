"""CopyNd: copy a box from one array into another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from operator import index
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.primitive.primitive import Factory, Primitive, Request, num_dims
from ep.include.stream import Stream


class CopyNd(Primitive):
    """`dst[dst_pos + i] = src[src_pos + i]` for every `i` inside `extent` (`copy_nd.h`)."""

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        data_type: DTypeLike,
        dst: Any,
        dst_dims: Sequence[int],
        dst_pos: Sequence[int],
        src: Any,
        src_dims: Sequence[int],
        src_pos: Sequence[int],
        extent: Sequence[int],
    ) -> None:
        """Copy on `stream`.

        data_type: the type of the elements of both buffers.
        dst, src: buffers with as many elements as their dims have. The boxes share no memory, but may be parts of one
            array. If the arrays' strides differ, neither box may begin before the other ends.
        dst_dims, src_dims: sizes >= 0, the same number for both, at most max_num_dims.
        dst_pos, src_pos: for each dim, the position of the box, in elements, >= 0.
        extent: the sizes of the box, >= 0; it is inside both arrays.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (dst_dims, dst_pos, src_dims, src_pos, extent), (dst, src), data_type)

    def LaunchColumns(
        self,
        stream: Stream,
        data_type: DTypeLike,
        whole: Any,
        rows: int,
        cols: int,
        begin: int,
        parts: Sequence[Any],
        to_parts: bool,
    ) -> None:
        """Copy between a matrix and matrices that are its parts.

        It is the same as a Launch for each part; many small copies may become one.
        data_type: the type of the elements of all buffers.
        whole: buffer of `[rows, cols]` elements; rows >= 1.
        parts: buffers with a `size` of rows times their columns, in the order of their columns in whole,
            the first from column `begin` on. None shares memory with whole. Those that are written may overlap: they
            are written in order.
        to_parts: whether the parts are written, and not whole.

        Raises TypeError or ValueError, as Launch does, before anything is written to the invalid part.
        """
        # each is converted once, although each part has a launch
        rows, cols, begin = _integer(rows, "rows"), _integer(cols, "cols"), _integer(begin, "begin")
        for part, width in zip(parts, widths_of(rows, cols, begin, parts), strict=True):
            dims = rows, width
            if to_parts:
                self.Launch(stream, data_type, part, dims, (0, 0), whole, (rows, cols), (0, begin), dims)
            else:
                self.Launch(stream, data_type, whole, (rows, cols), (0, begin), part, dims, (0, 0), dims)
            begin += width


def widths_of(rows: int, cols: int, begin: int, parts: Sequence[Any]) -> list[int]:
    """Return the numbers of columns of the parts of a LaunchColumns; ValueError for sizes that do not fit."""
    for argument, value, least in (("rows", rows, 1), ("cols", cols, 0), ("begin", begin, 0)):
        if value < least:
            raise ArgumentValueError(argument, f"is {value}; it must be {least} or more")
    found = []
    for k, part in enumerate(parts):
        width, rest = divmod(part.size, rows)
        if rest:
            raise ArgumentValueError(f"parts[{k}]", f"has {part.size} elements; they must be {rows} equal rows")
        begin += width
        if begin > cols:
            words = f"has {width} columns and ends at column {begin} of whole; it has {cols}"
            raise ArgumentValueError(f"parts[{k}]", words)
        found.append(width)
    return found


def _integer(value: Any, argument: str) -> int:
    if not hasattr(value, "__index__"):
        raise ArgumentTypeError(argument, f"must be an integer, not {type(value).__qualname__}")
    return index(value)


class CopyNdFactory(Factory[CopyNd]):
    """The factory of CopyNd for a number of dims; its data type is an argument of Launch."""

    primitive = CopyNd

    def New(self, max_num_dims: int) -> CopyNd | None:
        """Return a CopyNd, or None if the device has none; see `NewPrimitive`.

        max_num_dims: the most dims of the two arrays, at most 8 (New returns None for more).
        """
        return self.Select(Request(CopyNd, None, None, num_dims(max_num_dims)))
