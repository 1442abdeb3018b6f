"""Gather on the CPU."""

from __future__ import annotations

from ep.common.primitive.keys import GATHER
from ep.cpu.primitive.gather_primitive import GatherPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.gather import Gather, GatherFactory
from ep.include.primitive.implements import implements


@implements(GatherFactory, on=DeviceType.kCPU, keys=GATHER)
class GatherImpl(GatherPrimitive, Gather):
    pass
