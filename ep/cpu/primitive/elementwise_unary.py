"""ElementwiseUnary on the CPU: the map engine, over adjacent elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ep.common.checks import as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import ELEMENTWISE_UNARY
from ep.cpu.device.stream import CpuStream
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.elementwise_unary import ElementwiseUnary, ElementwiseUnaryFactory
from ep.include.primitive.implements import implements
from ep.include.stream import Stream


class CpuUnary(CpuPrimitive):
    """What ElementwiseUnary and Cast share."""

    signature, state_layout = signatures.ELEMENTWISE_UNARY, MAP_STATE

    def _compile(self) -> Callable[..., int]:
        from ep.cpu.kernels.elementwise import unary_entry

        return unary_entry(self.request, self.signature, self._state)

    def _compile_streaming(self) -> None:
        super()._compile_streaming()
        from ep.cpu.kernels.elementwise import set_streaming

        set_streaming(self.request, self._state)

    def Launch(self, stream: Stream, src: Any, dst: Any, count: int) -> None:
        if type(stream) is not CpuStream or self._entry(self._words, count, src, dst):
            self._launch_checked(stream, (as_size(count, "count"),), (), (src, dst))


@implements(ElementwiseUnaryFactory, on=DeviceType.kCPU, keys=ELEMENTWISE_UNARY)
class ElementwiseUnaryImpl(CpuUnary, ElementwiseUnary):
    pass
