"""CopyNd on the CPU: the move engine, over a box of either array."""

from __future__ import annotations

from ep.common.primitive.keys import COPY_ND
from ep.cpu.primitive.region_primitive import RegionPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.copy_nd import CopyNd, CopyNdFactory
from ep.include.primitive.implements import implements


@implements(CopyNdFactory, on=DeviceType.kCPU, keys=COPY_ND)
class CopyNdImpl(RegionPrimitive, CopyNd):
    pass
