"""UnsortedSegmentSum on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.primitive.keys import UNSORTED_SEGMENT_SUM
from ep.cuda.launch.known import launched
from ep.cuda.primitive.segment_primitive import SegmentPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.unsorted_segment_sum import UnsortedSegmentSum, UnsortedSegmentSumFactory
from ep.include.stream import Stream


@implements(UnsortedSegmentSumFactory, on=DeviceType.kCUDA, keys=UNSORTED_SEGMENT_SUM)
class UnsortedSegmentSumImpl(SegmentPrimitive, UnsortedSegmentSum):
    @launched
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
        sizes = 1, outer_dim_size, num_segments, inner_dim_size, num_ids, offset
        self._launch(stream, data, segment_ids, out, sizes)
