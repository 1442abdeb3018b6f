"""BatchGather on the CPU."""

from __future__ import annotations

from ep.common.primitive.keys import BATCH_GATHER
from ep.cpu.primitive.gather_primitive import GatherPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_gather import BatchGather, BatchGatherFactory
from ep.include.primitive.implements import implements


@implements(BatchGatherFactory, on=DeviceType.kCPU, keys=BATCH_GATHER)
class BatchGatherImpl(GatherPrimitive, BatchGather):
    pass
