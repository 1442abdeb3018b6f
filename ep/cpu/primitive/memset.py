"""Memset on the CPU: the move engine, over bytes."""

from __future__ import annotations

from typing import Any

from ep.common.checks import as_byte, as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import MEMSET
from ep.cpu.engine.form import Launcher
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.memset import Memset, MemsetFactory


@implements(MemsetFactory, on=DeviceType.kCPU, keys=MEMSET)
class MemsetImpl(CpuPrimitive, Memset):
    signature = signatures.MEMSET

    def _compile(self) -> Launcher:
        from ep.cpu.engine.move.entry import set_launcher

        return set_launcher(self._state)

    def _checked_numbers(self, *numbers: Any) -> tuple[int, ...]:
        count, value = numbers
        return as_size(count, "count"), as_byte(value, "value")
