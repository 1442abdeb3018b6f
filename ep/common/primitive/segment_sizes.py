"""The checked sizes of an UnsortedSegmentSum or a BatchScatter, the same on every device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ep.common.checks import as_offset, as_size
from ep.common.primitive.signature import Signature


class SegmentSizes(NamedTuple):
    """The checked sizes of a launch of UnsortedSegmentSum (whose batch is 1), BatchUnsortedSegmentSum, or BatchScatter:
    its rows are the segments, and its indices the ids."""

    batch: int
    outer: int
    num_segments: int
    inner: int
    num_ids: int
    offset: int


def as_segment_sizes(numbers: Sequence[Any], signature: Signature) -> SegmentSizes:
    """Return the checked sizes of a launch, whose names are in its signature, and its offset.

    Raises TypeError and ValueError, which name the argument.
    """
    *sizes, offset = numbers
    checked = [as_size(size, name) for size, name in zip(sizes, signature.sizes, strict=True)]
    return SegmentSizes._make([*checked, as_offset(offset)])
