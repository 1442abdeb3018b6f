"""ElementwiseUnary on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.buffer_checks import check_overlap
from ep.common.checks import as_size
from ep.common.primitive.keys import ELEMENTWISE_UNARY
from ep.cuda.buffers import as_address
from ep.cuda.map_plan import pack_counts
from ep.cuda.primitive.map_primitive import MapPrimitive
from ep.cuda.stream import check_stream
from ep.include.device_type import DeviceType
from ep.include.primitive.elementwise_unary import ElementwiseUnary, ElementwiseUnaryFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream


class ElementwiseUnaryImpl(MapPrimitive, ElementwiseUnary):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._variant = self._usual_variant()

    def Launch(self, stream: Stream, src: Any, dst: Any, count: int) -> None:
        stream = check_stream(stream)
        count = as_size(count, "count")
        src_address = as_address(src, "src", self.src_type, count, stream)
        dst_address = as_address(dst, "dst", self.dst_type, count, stream, writable=True)
        src_size, dst_size = self.src_type.itemsize, self.dst_type.itemsize
        check_overlap(dst_address, count * dst_size, "dst", src_address, count * src_size, "src", in_place=True)
        if not count:
            return
        aligned = self.takes_packs and not (src_address % self.src_pack or dst_address % self.dst_pack)
        packs, items = pack_counts(count, self.elements, whole=aligned)
        self._queue(stream, self._variant, items, src_address, 0, dst_address, packs, count, *self.attribute_words)


@register_primitive_factory(DeviceType.kCUDA, ElementwiseUnaryFactory)
class ElementwiseUnaryFactoryImpl(ElementwiseUnaryFactory):
    keys = ELEMENTWISE_UNARY

    def Make(self, request: Request) -> ElementwiseUnary:
        return ElementwiseUnaryImpl(request)
