"""TensorFill on the CPU: the map engine, with one element for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ep.common.checks import as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import TENSOR_FILL
from ep.cpu.device.stream import CpuStream
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.cpu.shared.context import LATER
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.tensor_fill import TensorFill, TensorFillFactory
from ep.include.stream import Stream


class CpuFill(CpuPrimitive):
    """What Fill and TensorFill share: the element lies in an array."""

    signature, state_layout = signatures.TENSOR_FILL, MAP_STATE

    def _compile(self) -> Callable[..., int]:
        from ep.cpu.engine.map.entry import map_entry
        from ep.cpu.kernels.fill import fill_kernel

        self._state.set(streaming_kernel=LATER)
        return map_entry("tensor_fill", self.signature, self._state, fill_kernel(self._types[0].itemsize))

    def _provide(self) -> None:
        super()._provide()
        from ep.cpu.engine.map.entry import compile_streaming
        from ep.cpu.kernels.fill import fill_kernel

        compile_streaming(self._state, lambda: fill_kernel(self._types[0].itemsize, streaming=True))


@implements(TensorFillFactory, on=DeviceType.kCPU, keys=TENSOR_FILL)
class TensorFillImpl(CpuFill, TensorFill):
    def Launch(self, stream: Stream, src: Any, dst: Any, count: int) -> None:
        if type(stream) is not CpuStream or self._entry(self._words, count, src, dst):
            self._launch_checked(stream, (as_size(count, "count"),), (), (src, dst))
