"""UnsortedSegmentSum on CUDA."""

from __future__ import annotations

from ep.common.primitive.keys import UNSORTED_SEGMENT_SUM
from ep.cuda.primitive.segment_primitive import SegmentPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.unsorted_segment_sum import UnsortedSegmentSum, UnsortedSegmentSumFactory


@implements(UnsortedSegmentSumFactory, on=DeviceType.kCUDA, keys=UNSORTED_SEGMENT_SUM)
class UnsortedSegmentSumImpl(SegmentPrimitive, UnsortedSegmentSum):
    pass
