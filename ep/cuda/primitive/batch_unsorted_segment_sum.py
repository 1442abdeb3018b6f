"""BatchUnsortedSegmentSum on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.primitive.keys import BATCH_UNSORTED_SEGMENT_SUM
from ep.cuda.launch.known import launched
from ep.cuda.primitive.segment_primitive import SegmentPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_unsorted_segment_sum import BatchUnsortedSegmentSum, BatchUnsortedSegmentSumFactory
from ep.include.primitive.implements import implements
from ep.include.stream import Stream


@implements(BatchUnsortedSegmentSumFactory, on=DeviceType.kCUDA, keys=BATCH_UNSORTED_SEGMENT_SUM)
class BatchUnsortedSegmentSumImpl(SegmentPrimitive, BatchUnsortedSegmentSum):
    @launched
    def Launch(
        self,
        stream: Stream,
        batch_dim_size: int,
        outer_dim_size: int,
        num_segments: int,
        inner_dim_size: int,
        data: Any,
        num_ids: int,
        segment_ids: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        sizes = batch_dim_size, outer_dim_size, num_segments, inner_dim_size, num_ids, offset
        self._launch(stream, data, segment_ids, out, sizes)
