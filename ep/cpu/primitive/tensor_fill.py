"""TensorFill on the CPU: the map engine, with one element for all."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import TENSOR_FILL
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.map.state import MapState
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.cpu.shared.context import LATER
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.tensor_fill import TensorFill, TensorFillFactory


class CpuFill(CpuPrimitive):
    """The base class of Fill and TensorFill: compiled code receives the element in an array."""

    state_record = MapState

    def _compile(self) -> Launcher:
        from ep.cpu.engine.map.entry import map_launcher
        from ep.cpu.kernels.fill import fill_kernel

        self._state.set(streaming_kernel=LATER)
        return map_launcher(self._state, fill_kernel(self._types[0].itemsize))

    def _provide(self) -> None:
        super()._provide()
        from ep.cpu.engine.map.entry import compile_streaming
        from ep.cpu.kernels.fill import fill_kernel

        compile_streaming(self._state, lambda: fill_kernel(self._types[0].itemsize, streaming=True))


@implements(TensorFillFactory, on=DeviceType.kCPU, keys=TENSOR_FILL)
class TensorFillImpl(CpuFill, TensorFill):
    signature = signatures.TENSOR_FILL
