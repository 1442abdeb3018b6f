"""ConstantPad on the CPU: the move engine copies a box, and writes the padding in the same pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ep.common.primitive import signatures
from ep.common.primitive.keys import CONSTANT_PAD
from ep.common.primitive.pad_shape import as_pad_shape
from ep.common.primitive.signature import Signature, reads
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.launchable import launched
from ep.cpu.engine.move.plan import PadPlan
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.constant_pad import ConstantPad, ConstantPadFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream

_SRC, _DST = signatures.CONSTANT_PAD.operands
_WITH_NUMBER: Final = Signature((_SRC, reads("pad_val", 0), _DST), signatures.CONSTANT_PAD.sizes)
"""The signature in which the number is an operand of one element."""


@implements(ConstantPadFactory, on=DeviceType.kCPU, keys=CONSTANT_PAD)
class ConstantPadImpl(PlannedPrimitive, ConstantPad):
    signature, number_operands = _WITH_NUMBER, ("pad_val",)

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        (self.data_type,) = request.dtypes or ()

    def _compile(self) -> Launcher:
        from ep.cpu.engine.move.entry import pad_launcher

        return pad_launcher(self._state, self.data_type)

    @launched
    def Launch(
        self,
        stream: Stream,
        src_dims: Sequence[int],
        src: Any,
        padding_before: Sequence[int],
        padding_after: Sequence[int],
        pad_val: Any,
        dst: Any,
    ) -> None:
        arrays = self._arrays(pad_val)
        dims = src_dims, padding_before, padding_after
        self._launch_by_dims(stream, dims, (src, *arrays, dst), given=(*dims, pad_val), arrays=arrays)

    def _launch_dims(self, stream: Any, dims: Any, buffers: Any, data_type: Any = None) -> None:
        shape = as_pad_shape(*dims)
        counts = shape.counts()
        self._launch_planned(
            stream, shape, counts, buffers, lambda: PadPlan(self.signature, shape, self.data_type, counts)
        )
