"""ElementwiseUnary on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ep.common.attributes import attribute_values
from ep.common.checks import as_size
from ep.common.primitive.keys import ELEMENTWISE_UNARY
from ep.cpu.buffers import as_buffer, check_overlap, check_stream
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.cpu.stream import CpuStream
from ep.include.device_type import DeviceType
from ep.include.primitive.elementwise_unary import ElementwiseUnary, ElementwiseUnaryFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream


class ElementwiseUnaryImpl(CpuPrimitive, ElementwiseUnary):
    def __init__(self, request: Request) -> None:
        self.src_type, self.dst_type = request.dtypes or ()
        super().__init__(request, (self.src_type, self.dst_type))

    def _compile(self) -> tuple[Callable[..., int], int, int]:
        from ep.cpu.kernels import elementwise_unary as kernels
        from ep.cpu.kernels.grain import grain_elements

        op: Any = self.request.op
        self._state.set_grain(grain_elements(op, (self.src_type, self.dst_type)))
        row_kernel = kernels.row_kernel(op, self.src_type, self.dst_type, attribute_values(self.request))
        return kernels.entry(), row_kernel, 0

    def Launch(self, stream: Stream, src: Any, dst: Any, count: int) -> None:
        if type(stream) is not CpuStream or self._entry(self._words, src, dst, count):
            self._launch_checked(stream, src, dst, count)

    def _launch_checked(self, stream: Stream, src: Any, dst: Any, count: int) -> None:
        check_stream(stream)
        count = as_size(count, "count")
        src = as_buffer(src, "src", self.src_type, count)
        dst = as_buffer(dst, "dst", self.dst_type, count, writable=True)
        check_overlap(dst, count, "dst", src, count, "src", in_place=True)
        if count:
            self._run(src, dst, count)


@register_primitive_factory(DeviceType.kCPU, ElementwiseUnaryFactory)
class ElementwiseUnaryFactoryImpl(ElementwiseUnaryFactory):
    keys = ELEMENTWISE_UNARY

    def Make(self, request: Request) -> ElementwiseUnary:
        return ElementwiseUnaryImpl(request)
