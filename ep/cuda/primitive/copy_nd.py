"""CopyNd on CUDA."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import COPY_ND
from ep.common.primitive.region_copy import as_box_copy
from ep.cuda.compile.launch_config import PACK_BYTES
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.move.plan import MoveVariant, move_plan
from ep.cuda.primitive.move_primitive import MovePrimitive, Shape
from ep.include.data_type import DTypeLike, as_data_type
from ep.include.device_type import DeviceType
from ep.include.primitive.copy_nd import CopyNd, CopyNdFactory
from ep.include.primitive.implements import implements
from ep.include.stream import Stream


@implements(CopyNdFactory, on=DeviceType.kCUDA, keys=COPY_ND)
class CopyNdImpl(MovePrimitive, CopyNd):
    signature = signatures.COPY_ND

    def _usual_variant(self) -> MoveVariant:
        return MoveVariant(2, PACK_BYTES, 0, 32)

    def _check(self, dims: tuple[Any, Any, Any, Any, Any]) -> tuple[Hashable, Shape]:
        given = as_box_copy(*dims, self.request.max_num_dims)
        return given, Shape(given, given.counts(), lambda *key: move_plan(given.walk(), *key))

    # whether boxes overlap follows from both addresses, so no launch is known by its sizes alone
    def Launch(
        self,
        stream: Stream,
        data_type: DTypeLike,
        dst: Any,
        dst_dims: Sequence[int],
        dst_pos: Sequence[int],
        src: Any,
        src_dims: Sequence[int],
        src_pos: Sequence[int],
        extent: Sequence[int],
    ) -> None:
        stream = check_stream(stream)
        data_type = as_data_type(data_type, "data_type")
        shape = self._shape(dst_dims, dst_pos, src_dims, src_pos, extent)
        dst, src = self._read(stream, (dst, src), shape.counts, types=(data_type, data_type))
        box, size = shape.given, data_type.itemsize
        if 0 in box.extent:
            return
        # boxes of two buffers that share no memory cannot overlap
        if dst < src + shape.counts[1] * size and src < dst + shape.counts[0] * size:
            box.check_overlap(dst - src, size)
        dst_offset, src_offset = box.offsets()
        self._move(stream, shape, size, src + src_offset * size, dst + dst_offset * size)
