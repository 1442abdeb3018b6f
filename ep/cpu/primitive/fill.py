"""Fill on the CPU: a TensorFill of a number, which compiled code takes as an array of one element."""

from __future__ import annotations

from typing import Any

from ep.common.checks import as_size
from ep.common.numbers import Numbers
from ep.common.primitive.keys import FILL
from ep.cpu.device.stream import CpuStream
from ep.cpu.primitive.tensor_fill import CpuFill
from ep.include.device_type import DeviceType
from ep.include.primitive.fill import Fill, FillFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream


@implements(FillFactory, on=DeviceType.kCPU, keys=FILL)
class FillImpl(CpuFill, Fill):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._numbers = Numbers(self._types[0])

    def Launch(self, stream: Stream, dst: Any, value: Any, count: int) -> None:
        number = self._numbers.array(value, "value")
        if type(stream) is not CpuStream or self._entry(self._words, count, number, dst):
            self._launch_checked(stream, (as_size(count, "count"),), (), (number, dst))
