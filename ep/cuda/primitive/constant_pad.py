"""ConstantPad on CUDA."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.common.primitive import signatures
from ep.common.primitive.keys import CONSTANT_PAD
from ep.common.primitive.movement import widest_unit
from ep.common.primitive.pad_shape import PadShape, as_pad_shape
from ep.common.scalar import convert_value, number_key
from ep.cuda.compile.launch_config import PACK_BYTES
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.move.pad_plan import PadPlan, PadVariant, pad_plan
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.primitive.constant_pad import ConstantPad, ConstantPadFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream


class _Shape:
    """What follows from dims and paddings; plans: those that were made, by alignments."""

    __slots__ = ("counts", "given", "plans")

    def __init__(self, given: PadShape) -> None:
        self.given, self.counts = given, given.counts()
        self.plans: dict[tuple[int, int], PadPlan] = {}


@implements(ConstantPadFactory, on=DeviceType.kCUDA, keys=CONSTANT_PAD)
class ConstantPadImpl(CudaPrimitive, ConstantPad):
    signature = signatures.CONSTANT_PAD

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        (self.data_type,) = request.dtypes or ()
        self._shapes, self._values = BoundedCache(), BoundedCache()

    def _kernel(self, variant: PadVariant) -> Any:
        from ep.cuda.engine.move import pad

        return pad.kernel(*variant)

    def _usual_variant(self) -> PadVariant:
        unit = self.data_type.itemsize
        return PadVariant(2, unit, PACK_BYTES // unit, 32)

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
        stream = check_stream(stream)
        dims = src_dims, padding_before, padding_after
        shape = self._shapes.find(*dims) or self._shape(*dims)
        key = number_key(pad_val)
        value = self._values.get(key) or self._values.keep(key, lambda: _bytes(pad_val, self.data_type))
        src, dst = self._read(stream, (src, dst), shape.counts)
        if not shape.counts[1]:
            return
        alignments = widest_unit(src), widest_unit(dst)
        plan = shape.plans.get(alignments)
        if plan is None:
            plan = shape.plans[alignments] = pad_plan(shape.given, self.data_type.itemsize, *alignments)
        unit = plan.variant.unit
        even, odd = (
            struct.unpack("2q", value)
            if unit == 16
            else (int.from_bytes(value[begin : begin + unit], "little", signed=True) for begin in (0, unit))
        )
        self._queue(
            stream, plan.variant, plan.num_items, src + plan.src_offset, dst, *plan.sizes, even, odd, *plan.words
        )

    def _shape(self, *dims: Any) -> _Shape:
        given = as_pad_shape(*dims)
        return self._shapes.keep(tuple(given), lambda: _Shape(given))


def _bytes(number: Any, data_type: DataType) -> bytes:
    """The bytes of a value, again and again until they are those of a pack."""
    element = np.array(convert_value(number, data_type, "pad_val"), data_type.dtype)
    return element.tobytes() * (PACK_BYTES // data_type.itemsize)
