"""OneHot on the CPU: rows of one value, and another one put where the index says."""

from __future__ import annotations

from typing import Any

from ep.common.checks import as_size
from ep.common.numbers import Numbers
from ep.common.primitive import signatures
from ep.common.primitive.class_range import as_class_range
from ep.common.primitive.keys import ONE_HOT
from ep.common.primitive.signature import Signature, reads
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.cpu.stream import CpuStream
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.one_hot import OneHot, OneHotFactory
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream

_NOTHING = object()


@implements(OneHotFactory, on=DeviceType.kCPU, keys=ONE_HOT)
class OneHotImpl(CpuPrimitive, OneHot):
    state_layout = MAP_STATE
    # compiled code takes the numbers as arrays of one element
    signature = Signature(
        (*signatures.ONE_HOT.operands, reads("on_value", 1), reads("off_value", 1)),
        signatures.ONE_HOT.sizes,
        signatures.ONE_HOT.others,
    )

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.indices_type, self.out_type = request.dtypes or ()
        self._numbers = Numbers(self.out_type)
        self._last: tuple[Any, ...] = _NOTHING, _NOTHING, None, None  # the numbers of the launch before, and arrays

    def _compile(self) -> Launcher:
        from ep.cpu.kernels.one_hot import one_hot_launcher

        return one_hot_launcher(self._state, self.indices_type, self.out_type)

    def _provide(self) -> None:
        super()._provide()
        from ep.cpu.engine.map.entry import compile_streaming
        from ep.cpu.kernels.one_hot import one_hot_kernel

        size = self.out_type.itemsize
        compile_streaming(self._state, lambda: one_hot_kernel(self.indices_type, size, streaming=True))

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
        last_on, last_off, on, off = self._last
        if on_value is not last_on or off_value is not last_off:
            on, off = self._numbers.array(on_value, "on_value"), self._numbers.array(off_value, "off_value")
            self._last = on_value, off_value, on, off
        if (
            type(stream) is not CpuStream
            or not type(lower_bound) is type(upper_bound) is int
            or self._enter(None, num_indices, upper_bound - lower_bound, lower_bound, indices, out, on, off)
        ):
            first, depth = as_class_range(lower_bound, upper_bound)
            numbers = as_size(num_indices, "num_indices"), depth, first
            self._launch_numbers(stream, numbers, (indices, out, on, off))
