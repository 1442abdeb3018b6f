"""Memcpy on the CPU: the move engine, over bytes. Host and device are one, and so all kinds are alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ep.common.checks import as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import MEMCPY
from ep.cpu.device.stream import CpuStream
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.memcpy import Memcpy, MemcpyFactory
from ep.include.stream import Stream


@implements(MemcpyFactory, on=DeviceType.kCPU, keys=MEMCPY)
class MemcpyImpl(CpuPrimitive, Memcpy):
    signature = signatures.MEMCPY

    def _compile(self) -> Callable[..., int]:
        from ep.cpu.engine.move.entry import copy_entry

        return copy_entry(self.signature, self._state)

    def Launch(self, stream: Stream, dst: Any, src: Any, count: int) -> None:
        if type(stream) is not CpuStream or self._entry(self._words, count, dst, src):
            self._launch_checked(stream, (as_size(count, "count"),), (), (dst, src))
