"""ElementwiseUnary on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.buffer_checks import check_overlap
from ep.common.checks import as_size
from ep.common.primitive.keys import ELEMENTWISE_UNARY
from ep.cuda.arithmetic import COMPUTE_BOUND
from ep.cuda.buffers import as_address
from ep.cuda.launch_config import pack_elements
from ep.cuda.primitive.cuda_primitive import CudaPrimitive, attribute_words
from ep.cuda.stream import check_stream
from ep.include.device_type import DeviceType
from ep.include.primitive.elementwise_unary import ElementwiseUnary, ElementwiseUnaryFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream


class ElementwiseUnaryImpl(CudaPrimitive, ElementwiseUnary):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.src_type, self.dst_type = request.dtypes or ()
        self._src_size, self._dst_size = self.src_type.itemsize, self.dst_type.itemsize
        self._elements = pack_elements(self.src_type, self.dst_type)
        self._takes_packs = request.op not in COMPUTE_BOUND
        self._attributes = attribute_words(request)

    def _kernel(self, variant: None) -> Any:
        from ep.cuda.kernels.elementwise_unary import kernel

        return kernel(self.request.op, self.src_type, self.dst_type)  # type: ignore[arg-type]

    def _usual_variant(self) -> None:
        return None

    def Launch(self, stream: Stream, src: Any, dst: Any, count: int) -> None:
        stream = check_stream(stream)
        count = as_size(count, "count")
        src_address = as_address(src, "src", self.src_type, count, stream)
        dst_address = as_address(dst, "dst", self.dst_type, count, stream, writable=True)
        src_size, dst_size, elements = self._src_size, self._dst_size, self._elements
        check_overlap(dst_address, count * dst_size, "dst", src_address, count * src_size, "src", in_place=True)
        if not count:
            return
        whole = self._takes_packs and not (src_address % (elements * src_size) or dst_address % (elements * dst_size))
        packs = count // elements if whole else 0
        items = max(packs, count - packs * elements)
        self._queue(stream, None, items, src_address, dst_address, packs, count, *self._attributes)


@register_primitive_factory(DeviceType.kCUDA, ElementwiseUnaryFactory)
class ElementwiseUnaryFactoryImpl(ElementwiseUnaryFactory):
    keys = ELEMENTWISE_UNARY

    def Make(self, request: Request) -> ElementwiseUnary:
        return ElementwiseUnaryImpl(request)
