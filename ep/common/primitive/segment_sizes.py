"""The checked sizes of an UnsortedSegmentSum, the same on every device."""

from __future__ import annotations

from typing import Any, NamedTuple

from ep.common.checks import as_offset, as_size


class SegmentSizes(NamedTuple):
    """The checked sizes of a launch of UnsortedSegmentSum (whose batch is 1) or BatchUnsortedSegmentSum."""

    batch: int
    outer: int
    num_segments: int
    inner: int
    num_ids: int
    offset: int


def as_segment_sizes(batch: Any, outer: Any, num_segments: Any, inner: Any, num_ids: Any, offset: Any) -> SegmentSizes:
    """Return the checked sizes of a launch. Raises TypeError and ValueError, which name the argument."""
    return SegmentSizes(
        as_size(batch, "batch_dim_size"),
        as_size(outer, "outer_dim_size"),
        as_size(num_segments, "num_segments"),
        as_size(inner, "inner_dim_size"),
        as_size(num_ids, "num_ids"),
        as_offset(offset),
    )
