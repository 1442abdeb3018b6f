"""BatchScatter on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import BATCH_SCATTER
from ep.cuda.engine.reduce.segment_plan import Folding
from ep.cuda.primitive.segment_primitive import SegmentPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_scatter import BatchScatter, BatchScatterFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.primitive.scatter_op import COMBINED_BY


@implements(BatchScatterFactory, on=DeviceType.kCUDA, keys=BATCH_SCATTER)
class BatchScatterImpl(SegmentPrimitive, BatchScatter):
    signature = signatures.BATCH_SCATTER

    def _folding_of(self, request: Request) -> Folding:
        op: Any = request.op
        return Folding(COMBINED_BY.get(op), onto=True)
