"""Copies of boxes of arrays: the common part of operators that cut and join."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.region_copy import RegionCopy
from ep.include.arrays import Array
from ep.include.primitive.copy_nd import CopyNdFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.stream import Stream
from ep.ops.kernels import Subject, primitive_exists

Copy = Callable[[Stream, Array, Array], None]
"""Function that queues the copy of a box: (stream, src, dst)."""

ColumnsCopy = Callable[[Stream, Array, Sequence[Array]], None]
"""Function that queues copies between an array and its parts: (stream, whole, parts)."""


COPY_ND = primitive_exists(CopyNdFactory, kMaxNumDims)


def copying(subject: Subject, copy_nd: Any, box: RegionCopy) -> Copy:
    """Return the function that copies a box of an array to its place in another; ValueError for over 8 axes."""
    if len(box.extent) > kMaxNumDims:
        raise ValueError(f"slices of x leave {len(box.extent)} axes; at most {kMaxNumDims} are possible")
    launch, dtype = copy_nd.Launch, subject.data_types["out"].dtype
    dst_dims, dst_pos, src_dims, src_pos, extent = box

    def copy(stream: Stream, src: Array, dst: Array) -> None:
        launch(stream, dtype, dst, dst_dims, dst_pos, src, src_dims, src_pos, extent)

    return copy


def copying_columns(
    subject: Subject, copy_nd: Any, shape: Dims, axis: int, begin: int, *, to_parts: bool
) -> ColumnsCopy:
    """Return the function that copies between an array and its parts along `axis`; the first is at column `begin`.

    shape: of the array. Columns are those of the rows that the axes before `axis` form.
    """
    launch, dtype = copy_nd.LaunchColumns, subject.data_types["out"].dtype
    rows, size = math.prod(shape[:axis]), math.prod(shape)
    if size == 0:
        return lambda stream, whole, parts: None

    def copy(stream: Stream, whole: Array, parts: Sequence[Array]) -> None:
        launch(stream, dtype, whole, rows, size // rows, begin, parts, to_parts)

    return copy
