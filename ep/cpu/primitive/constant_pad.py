"""ConstantPad on the CPU: the move engine, over the box that is copied, with the padding written on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ep.common.numbers import Numbers
from ep.common.primitive import signatures
from ep.common.primitive.keys import CONSTANT_PAD
from ep.common.primitive.pad_shape import as_pad_shape
from ep.common.primitive.signature import Signature, reads
from ep.cpu.device.stream import CpuStream
from ep.cpu.engine.move.plan import PadPlan
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.constant_pad import ConstantPad, ConstantPadFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream

_SRC, _DST = signatures.CONSTANT_PAD.operands
_WITH_NUMBER: Final = Signature((_SRC, reads("pad_val", 0), _DST), signatures.CONSTANT_PAD.sizes)
"""The number is an operand of one element here."""


@implements(ConstantPadFactory, on=DeviceType.kCPU, keys=CONSTANT_PAD)
class ConstantPadImpl(PlannedPrimitive, ConstantPad):
    signature = _WITH_NUMBER

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        (self.data_type,) = request.dtypes or ()
        self._numbers = Numbers(self.data_type)

    def _compile(self) -> Callable[..., int]:
        from ep.cpu.engine.move.entry import pad_entry

        return pad_entry(self.signature, self._state, self.data_type)

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
        number = self._numbers.array(pad_val, "pad_val")
        dims = src_dims, padding_before, padding_after
        last_dims, plan = self._last
        try:
            if dims != last_dims:
                plan = self._find_plan(dims)
        except (TypeError, ValueError):  # dims in a list, or in an array
            plan = None
        if (
            plan is None
            or type(stream) is not CpuStream
            or self._entry(self._words, plan.words, dims, src, number, dst)
        ):
            self._launch_dims(stream, dims, src, number, dst)

    def _launch_dims(self, stream: Stream, dims: tuple[Any, Any, Any], src: Any, number: Any, dst: Any) -> None:
        """Check a launch in Python, then do it. Apart from Launch, which would be slower with a closure in it."""
        shape = as_pad_shape(*dims)
        counts = shape.counts()
        self._launch_planned(
            stream, shape, counts, (src, number, dst), lambda: PadPlan(self.signature, shape, self.data_type, counts)
        )
