"""BatchGather on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.primitive.keys import BATCH_GATHER
from ep.cuda.launch.known import launched
from ep.cuda.primitive.gather_primitive import GatherPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_gather import BatchGather, BatchGatherFactory
from ep.include.primitive.implements import implements
from ep.include.stream import Stream


@implements(BatchGatherFactory, on=DeviceType.kCUDA, keys=BATCH_GATHER)
class BatchGatherImpl(GatherPrimitive, BatchGather):
    @launched
    def Launch(
        self,
        stream: Stream,
        batch_dim_size: int,
        outer_dim_size: int,
        gather_dim_size: int,
        inner_dim_size: int,
        params: Any,
        num_indices: int,
        indices: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        sizes = batch_dim_size, outer_dim_size, gather_dim_size, inner_dim_size, num_indices, offset
        self._launch(stream, params, indices, out, sizes)
