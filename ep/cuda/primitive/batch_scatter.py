"""BatchScatter on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import BATCH_SCATTER
from ep.cuda.engine.reduce.segment_plan import Folding
from ep.cuda.launch.known import launched
from ep.cuda.primitive.segment_primitive import SegmentPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_scatter import BatchScatter, BatchScatterFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.primitive.scatter_op import COMBINED_BY
from ep.include.stream import Stream


@implements(BatchScatterFactory, on=DeviceType.kCUDA, keys=BATCH_SCATTER)
class BatchScatterImpl(SegmentPrimitive, BatchScatter):
    signature = signatures.BATCH_SCATTER

    def _folding_of(self, request: Request) -> Folding:
        op: Any = request.op
        return Folding(COMBINED_BY.get(op), onto=True)

    @launched
    def Launch(
        self,
        stream: Stream,
        batch_dim_size: int,
        outer_dim_size: int,
        scatter_dim_size: int,
        inner_dim_size: int,
        updates: Any,
        num_indices: int,
        indices: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        sizes = batch_dim_size, outer_dim_size, scatter_dim_size, inner_dim_size, num_indices, offset
        self._launch(stream, updates, indices, out, sizes)
