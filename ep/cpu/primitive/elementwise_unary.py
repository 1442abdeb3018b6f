"""ElementwiseUnary on the CPU: the map engine, over adjacent elements."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import ELEMENTWISE_UNARY
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.map.state import MapState
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.elementwise_unary import ElementwiseUnary, ElementwiseUnaryFactory
from ep.include.primitive.implements import implements


class CpuUnary(CpuPrimitive):
    """The base class of ElementwiseUnary and Cast."""

    signature, state_record = signatures.ELEMENTWISE_UNARY, MapState

    def _compile(self) -> Launcher:
        from ep.cpu.kernels.elementwise import unary_launcher

        return unary_launcher(self.request, self.signature, self._state)

    def _compile_streaming(self) -> None:
        super()._compile_streaming()
        from ep.cpu.kernels.elementwise import set_streaming

        set_streaming(self.request, self._state)


@implements(ElementwiseUnaryFactory, on=DeviceType.kCPU, keys=ELEMENTWISE_UNARY)
class ElementwiseUnaryImpl(CpuUnary, ElementwiseUnary):
    pass
