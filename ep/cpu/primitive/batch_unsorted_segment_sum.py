"""BatchUnsortedSegmentSum on the CPU."""

from __future__ import annotations

from ep.common.primitive.keys import BATCH_UNSORTED_SEGMENT_SUM
from ep.cpu.primitive.segment_primitive import SegmentPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_unsorted_segment_sum import BatchUnsortedSegmentSum, BatchUnsortedSegmentSumFactory
from ep.include.primitive.implements import implements


@implements(BatchUnsortedSegmentSumFactory, on=DeviceType.kCPU, keys=BATCH_UNSORTED_SEGMENT_SUM)
class BatchUnsortedSegmentSumImpl(SegmentPrimitive, BatchUnsortedSegmentSum):
    pass
