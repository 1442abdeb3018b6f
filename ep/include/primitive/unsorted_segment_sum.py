"""UnsortedSegmentSum: sum rows by the segments that they belong to, the gradient of Gather."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types
from ep.include.stream import Stream


class UnsortedSegmentSum(Primitive):
    """`out[o, s, n] = sum of data[o, i, n] over all i with segment_ids[i] - offset == s`.

    Upstream has it as a separate kernel (`user/kernels/unsorted_segment_sum_kernel_util`).
    """

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        outer_dim_size: int,
        num_segments: int,
        inner_dim_size: int,
        data: Any,
        num_ids: int,
        segment_ids: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        """Sum rows on `stream`.

        data: buffer of `[outer_dim_size, num_ids, inner_dim_size]` elements of data_type.
        segment_ids: buffer of `[num_ids]` elements of segment_ids_type, in any order.
        out: buffer of `[outer_dim_size, num_segments, inner_dim_size]` elements of data_type, overlapping neither. All
            of it is written; a segment without rows is 0.
        offset: the id of segment 0, at most 2^62 in magnitude. If an id minus `offset` is outside `[0, num_segments)`,
            its row is ignored; the id is neither wrapped nor reported.

        The order of additions depends only on the sizes and the ids, so the result has the same bits in every run: up
        to 64 rows of a segment are added in the order of i. A device may divide more rows into parts of 64, 128, 256 or
        512 neighbours; it adds the rows of each part in that order, and then the sums of the parts in their order.
        Integers wrap around; 16-bit floating types are added in float32 and rounded once.

        Sizes are in elements, >= 0; nothing happens if `out` is empty. Raises TypeError or ValueError, naming the
        argument, before anything is written.
        """
        sizes = 1, outer_dim_size, num_segments, inner_dim_size, num_ids, offset
        self._launch_with(stream, sizes, (data, segment_ids, out))


class UnsortedSegmentSumFactory(Factory[UnsortedSegmentSum]):
    """The factory of UnsortedSegmentSum for a type of data and a type of ids."""

    primitive = UnsortedSegmentSum

    def New(self, data_type: DTypeLike, segment_ids_type: DTypeLike) -> UnsortedSegmentSum | None:
        """Return one of `data_type` by `segment_ids_type`, or None if the device has none; see `NewPrimitive`."""
        types = data_types(data_type=data_type, segment_ids_type=segment_ids_type)
        return self.Select(Request(UnsortedSegmentSum, None, types))
