"""Fill on the CPU: a TensorFill of a number, which compiled code receives as an array of one element."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import FILL
from ep.common.primitive.signature import Signature, reads
from ep.cpu.engine.launchable import launched
from ep.cpu.primitive.tensor_fill import CpuFill
from ep.include.device_type import DeviceType
from ep.include.primitive.fill import Fill, FillFactory
from ep.include.primitive.implements import implements
from ep.include.stream import Stream


@implements(FillFactory, on=DeviceType.kCPU, keys=FILL)
class FillImpl(CpuFill, Fill):
    signature = Signature((reads("value", 0), *signatures.FILL.operands), signatures.FILL.sizes)
    number_operands = ("value",)

    @launched
    def Launch(self, stream: Stream, dst: Any, value: Any, count: int) -> None:
        arrays = self._arrays(value)
        self._remember((value,), None, arrays)
        self._launch_sized(stream, (count,), (*arrays, dst))
