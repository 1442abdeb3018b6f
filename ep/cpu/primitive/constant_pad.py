"""ConstantPad on the CPU: the move engine copies a box, and writes the padding in the same pass."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import CONSTANT_PAD
from ep.common.primitive.pad_shape import as_pad_shape
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.move.plan import PadPlan
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.constant_pad import ConstantPad, ConstantPadFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request


@implements(ConstantPadFactory, on=DeviceType.kCPU, keys=CONSTANT_PAD)
class ConstantPadImpl(PlannedPrimitive, ConstantPad):
    number_operands = ("pad_val",)
    signature = signatures.CONSTANT_PAD.with_numbers(0, *number_operands)

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        (self.data_type,) = request.dtypes or ()

    def _compile(self) -> Launcher:
        from ep.cpu.engine.move.entry import pad_launcher

        return pad_launcher(self._state, self.data_type)

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *numbers: Any) -> None:
        arrays = self._arrays(*numbers)
        self._launch_by_dims(stream, sizes, (*buffers, *arrays), given=(*sizes, *numbers), arrays=arrays)

    def _launch_dims(self, stream: Any, dims: Any, buffers: Any, data_type: Any = None) -> None:
        shape = as_pad_shape(*dims)
        counts = shape.counts()
        self._launch_planned(
            stream, shape, counts, buffers, lambda: PadPlan(self.signature, shape, self.data_type, counts)
        )
