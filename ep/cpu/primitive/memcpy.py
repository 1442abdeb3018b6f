"""Memcpy on the CPU: the move engine, over bytes. Host and device are one, so all kinds are the same."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import MEMCPY
from ep.cpu.engine.form import Launcher
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.memcpy import Memcpy, MemcpyFactory


@implements(MemcpyFactory, on=DeviceType.kCPU, keys=MEMCPY)
class MemcpyImpl(CpuPrimitive, Memcpy):
    signature = signatures.MEMCPY

    def _compile(self) -> Launcher:
        from ep.cpu.engine.move.entry import copy_launcher

        return copy_launcher(self._state)
