"""Expand on CUDA."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.broadcast import StridedWalk
from ep.common.primitive.expand_shape import as_expand_shape
from ep.common.primitive.keys import EXPAND
from ep.cuda.compile.launch_config import PACK_BYTES
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.move.plan import MoveVariant, move_plan
from ep.cuda.primitive.move_primitive import MovePrimitive, Shape
from ep.include.device_type import DeviceType
from ep.include.primitive.expand import Expand, ExpandFactory
from ep.include.primitive.implements import implements


@implements(ExpandFactory, on=DeviceType.kCUDA, keys=EXPAND)
class ExpandImpl(MovePrimitive, Expand):
    signature = signatures.EXPAND

    def _usual_variant(self) -> MoveVariant:
        return MoveVariant(2, PACK_BYTES, 1, 32)

    def _check(self, dims: tuple[Any, Any, Any, Any]) -> tuple[Hashable, Shape]:
        given = as_expand_shape(*dims, self.request.max_num_dims)
        counts = given.counts()
        walk = given.walk() if counts[1] else StridedWalk((), (), ())
        return given.key, Shape(given, counts, partial(move_plan, walk), walk.src_strides == walk.dst_strides)

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        stream, shape = check_stream(stream), self._shape(*sizes)
        src, dst = self._read(stream, buffers, shape.counts, shape.in_place)
        if shape.counts[1]:
            self._move(stream, shape, self._types[0].itemsize, src, dst)
