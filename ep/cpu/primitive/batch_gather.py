"""BatchGather on the CPU."""

from __future__ import annotations

from typing import Any

from ep.common.primitive.keys import BATCH_GATHER
from ep.cpu.engine.launchable import launched
from ep.cpu.primitive.gather import CpuGather
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_gather import BatchGather, BatchGatherFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream


class BatchGatherImpl(CpuGather, BatchGather):
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
        numbers = batch_dim_size, outer_dim_size, gather_dim_size, inner_dim_size, num_indices, offset
        self._launch_unplanned(stream, numbers, (params, indices, out))


@register_primitive_factory(DeviceType.kCPU, BatchGatherFactory)
class BatchGatherFactoryImpl(BatchGatherFactory):
    keys = BATCH_GATHER

    def Make(self, request: Request) -> BatchGather:
        return BatchGatherImpl(request)
