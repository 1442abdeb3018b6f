"""ConstantPad on CUDA."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

from ep.common.numbers import Numbers
from ep.common.primitive import signatures
from ep.common.primitive.keys import CONSTANT_PAD
from ep.common.primitive.pad_shape import as_pad_shape
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.move.pad_plan import PadVariant, pad_plan, usual_pad
from ep.cuda.primitive.move_primitive import MovePrimitive, Shape
from ep.include.device_type import DeviceType
from ep.include.primitive.constant_pad import ConstantPad, ConstantPadFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request


@implements(ConstantPadFactory, on=DeviceType.kCUDA, keys=CONSTANT_PAD)
class ConstantPadImpl(MovePrimitive, ConstantPad):
    signature = signatures.CONSTANT_PAD

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._numbers = Numbers(self._types[0])

    def _kernel(self, variant: PadVariant) -> Any:
        from ep.cuda.engine.move.pad import kernel

        return kernel(*variant)

    def _usual_variant(self) -> PadVariant:
        return usual_pad(self._types[0].itemsize)

    def _check(self, dims: tuple[Any, Any, Any]) -> tuple[Hashable, Shape]:
        return (given := as_pad_shape(*dims)), Shape(given, given.counts(), partial(pad_plan, given))

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *numbers: Any) -> None:
        stream, shape = check_stream(stream), self._shape(*sizes)
        element = self._numbers.array(numbers[0], "pad_val")
        src, dst = self._read(stream, buffers, shape.counts)
        if shape.counts[1]:
            plan = shape.plan(element.itemsize, src, dst)
            words = plan.words(element.tobytes())
            self._queue(stream, plan.variant, plan.num_items, src + plan.src_offset, dst, *words)
