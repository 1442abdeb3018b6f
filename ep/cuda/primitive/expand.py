"""Expand on CUDA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ep.common.bounded_cache import BoundedCache
from ep.common.primitive import signatures
from ep.common.primitive.broadcast import StridedWalk
from ep.common.primitive.expand_shape import as_expand_shape
from ep.common.primitive.keys import EXPAND
from ep.common.primitive.movement import widest_unit
from ep.cuda.compile.launch_config import PACK_BYTES
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.move.plan import MoveVariant, move_plan
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.expand import Expand, ExpandFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream


class _Shape(NamedTuple):
    """What follows from dims and strides: the walk in elements, and how many of them each side must have."""

    walk: StridedWalk
    src_count: int
    dst_count: int


@implements(ExpandFactory, on=DeviceType.kCUDA, keys=EXPAND)
class ExpandImpl(CudaPrimitive, Expand):
    signature = signatures.EXPAND

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        (self.data_type,) = request.dtypes or ()
        self._shapes, self._plans = BoundedCache(), BoundedCache()

    def _kernel(self, variant: MoveVariant) -> Any:
        from ep.cuda.engine.move.move import kernel

        return kernel(*variant)

    def _usual_variant(self) -> MoveVariant:
        return MoveVariant(2, PACK_BYTES, 1, 32)

    def Launch(
        self,
        stream: Stream,
        src_dims: Sequence[int],
        src: Any,
        dst_dims: Sequence[int],
        dst: Any,
        src_strides: Sequence[int] | None = None,
        dst_strides: Sequence[int] | None = None,
    ) -> None:
        stream = check_stream(stream)
        dims_and_strides = src_dims, dst_dims, src_strides, dst_strides
        shape = self._shapes.find(*dims_and_strides) or self._shape(*dims_and_strides)
        in_place = shape.walk.src_strides == shape.walk.dst_strides
        src_address, dst_address = self._read(stream, (src, dst), (shape.src_count, shape.dst_count), in_place)
        if not shape.dst_count:
            return
        size = self.data_type.itemsize
        alignment = widest_unit(src_address), widest_unit(dst_address)
        key = shape, alignment
        plan = self._plans.get(key) or self._plans.keep(key, lambda: move_plan(shape.walk, size, *alignment))
        self._queue(stream, plan.variant, plan.num_items, src_address, dst_address, *plan.words)

    def _shape(self, src_dims: Any, dst_dims: Any, src_strides: Any, dst_strides: Any) -> _Shape:
        given = as_expand_shape(src_dims, dst_dims, src_strides, dst_strides, self.request.max_num_dims)
        src_count, dst_count = given.counts()
        shape = _Shape(given.walk() if dst_count else StridedWalk((), (), ()), src_count, dst_count)
        return self._shapes.keep(given.key, lambda: shape)
