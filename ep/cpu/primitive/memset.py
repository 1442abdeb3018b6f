"""Memset on the CPU: the move engine, over bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ep.common.checks import as_byte, as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import MEMSET
from ep.cpu.device.stream import CpuStream
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.memset import Memset, MemsetFactory
from ep.include.stream import Stream


@implements(MemsetFactory, on=DeviceType.kCPU, keys=MEMSET)
class MemsetImpl(CpuPrimitive, Memset):
    signature = signatures.MEMSET

    def _compile(self) -> Callable[..., int]:
        from ep.cpu.engine.move.entry import set_entry

        return set_entry(self.signature, self._state)

    def Launch(self, stream: Stream, dst: Any, value: int, count: int) -> None:
        if type(stream) is not CpuStream or self._entry(self._words, count, value, dst):
            self._launch_checked(stream, (as_size(count, "count"),), (as_byte(value, "value"),), (dst,))
