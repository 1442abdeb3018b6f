"""Fill on the CPU: a TensorFill of a number, which compiled code receives as an array of one element."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import FILL
from ep.cpu.primitive.tensor_fill import CpuFill
from ep.include.device_type import DeviceType
from ep.include.primitive.fill import Fill, FillFactory
from ep.include.primitive.implements import implements


@implements(FillFactory, on=DeviceType.kCPU, keys=FILL)
class FillImpl(CpuFill, Fill):
    number_operands = ("value",)
    signature = signatures.FILL.with_numbers(0, *number_operands)
