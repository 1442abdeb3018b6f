"""OneHot on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.checks import as_size
from ep.common.primitive import signatures
from ep.common.primitive.class_range import as_class_range
from ep.common.primitive.keys import ONE_HOT
from ep.common.stored_types import unit_of
from ep.cuda.compile.launch_config import PACK_BYTES, pack_elements
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.map.one_hot_plan import OneHotVariant, one_hot_plan
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.cuda.primitive.number_words import NumberWords
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.one_hot import OneHot, OneHotFactory
from ep.include.primitive.primitive import Request


@implements(OneHotFactory, on=DeviceType.kCUDA, keys=ONE_HOT)
class OneHotImpl(CudaPrimitive, OneHot):
    signature = signatures.ONE_HOT

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._stored = self._types[0], unit_of(self._types[1])
        self._numbers = NumberWords(self._types[1], self._stored[1])

    def _kernel(self, variant: OneHotVariant) -> Any:
        from ep.cuda.kernels.one_hot import kernel

        return kernel(*self._stored, *variant)

    def _usual_variant(self) -> OneHotVariant:
        return OneHotVariant(pack_elements(self._stored[1]), True, 32)

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *numbers: Any) -> None:
        stream, num_indices = check_stream(stream), as_size(sizes[0], "num_indices")
        on, off = map(self._numbers.of, numbers, ("on_value", "off_value"))
        lower, depth = as_class_range(*sizes[1:])
        indices, out = self._read(stream, buffers, (num_indices, count := num_indices * depth))
        if count:
            plan = one_hot_plan(lower, depth, count, not out % PACK_BYTES, *self._stored)
            self._queue(stream, plan.variant, plan.num_items, *plan.words_for(indices, out, on, off))
