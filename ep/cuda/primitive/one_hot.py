"""OneHot on CUDA."""

from __future__ import annotations

from typing import Any, NamedTuple

from ep.common.bounded_cache import BoundedCache
from ep.common.checks import as_size
from ep.common.fast_integer_math import FastIntegerMath
from ep.common.primitive import signatures
from ep.common.primitive.class_range import as_class_range
from ep.common.primitive.keys import ONE_HOT
from ep.common.primitive.movement import fits_32_bit_offsets
from ep.common.scalar import convert_value, number_key
from ep.common.stored_types import unit_of
from ep.cuda.compile.launch_config import PACK_BYTES, pack_elements
from ep.cuda.device.stream import check_stream
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.cuda.primitive.map_primitive import Number, number_words
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.one_hot import OneHot, OneHotFactory
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream


class _Plan(NamedTuple):
    """A launch of certain sizes to an address of one alignment; classes, depth: words of the kernel."""

    variant: tuple[int, bool, int]
    num_items: int
    packs: int
    classes: tuple[int, int, int]
    depth: tuple[int, ...]


@implements(OneHotFactory, on=DeviceType.kCUDA, keys=ONE_HOT)
class OneHotImpl(CudaPrimitive, OneHot):
    signature = signatures.ONE_HOT

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.indices_type, self.out_type = request.dtypes or ()
        self._unit = unit_of(self.out_type)
        self._plans, self._numbers = BoundedCache(), BoundedCache()

    def _kernel(self, variant: tuple[int, bool, int]) -> Any:
        from ep.cuda.kernels.one_hot import kernel

        return kernel(self.indices_type, self._unit, *variant)

    def _usual_variant(self) -> tuple[int, bool, int]:
        return pack_elements(self._unit), True, 32

    def Launch(
        self,
        stream: Stream,
        indices: Any,
        out: Any,
        on_value: Any,
        off_value: Any,
        num_indices: int,
        lower_bound: int,
        upper_bound: int,
    ) -> None:
        stream = check_stream(stream)
        on, off = self._number(on_value, "on_value"), self._number(off_value, "off_value")
        num_indices = as_size(num_indices, "num_indices")
        lower, depth = as_class_range(lower_bound, upper_bound)
        indices, out = self._read(stream, (indices, out), (num_indices, count := num_indices * depth))
        if not count:
            return
        key = lower, depth, count, not out % PACK_BYTES
        plan = self._plans.get(key) or self._plans.keep(key, lambda: self._plan(*key))
        words = indices, out, plan.packs, count, *plan.classes, *on, *off, *plan.depth
        self._queue(stream, plan.variant, plan.num_items, *words)

    def _number(self, number: Any, argument: str) -> Number:
        key = number_key(number)
        words = self._numbers.get(key)
        return words or self._numbers.keep(
            key, lambda: number_words(convert_value(number, self.out_type, argument), self._unit)
        )

    def _plan(self, lower: int, depth: int, count: int, aligned: bool) -> _Plan:
        elements = pack_elements(self._unit) if aligned else 1
        low = max(lower, 0) if self.indices_type.dtype.kind == "u" else lower
        bits = 32 if fits_32_bit_offsets(count) else 64
        packs = count // elements if aligned else 0
        return _Plan(
            (elements, depth % elements == 0, bits),
            max(packs, count - packs * elements),
            packs,
            (low, max(depth - (low - lower), 0), low - lower),
            FastIntegerMath(depth, bits).words(),
        )
