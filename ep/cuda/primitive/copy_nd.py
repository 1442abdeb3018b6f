"""CopyNd on CUDA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.bounded_cache import BoundedCache
from ep.common.primitive import signatures
from ep.common.primitive.box_copy import BoxCopy, as_box_copy
from ep.common.primitive.keys import COPY_ND
from ep.common.primitive.movement import widest_unit
from ep.cuda.compile.launch_config import PACK_BYTES
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.move.plan import MovePlan, MoveVariant, move_plan
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.data_type import DTypeLike, as_data_type
from ep.include.device_type import DeviceType
from ep.include.primitive.copy_nd import CopyNd, CopyNdFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream


class _Box:
    """What follows from dims and positions; plans: those that were made, by element size and alignments."""

    __slots__ = ("counts", "given", "is_empty", "offsets", "plans")

    def __init__(self, given: BoxCopy) -> None:
        self.given, self.counts, self.offsets = given, given.counts(), given.offsets()
        self.is_empty = 0 in given.extent
        self.plans: dict[tuple[int, int, int], MovePlan] = {}


@implements(CopyNdFactory, on=DeviceType.kCUDA, keys=COPY_ND)
class CopyNdImpl(CudaPrimitive, CopyNd):
    signature = signatures.COPY_ND

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._boxes = BoundedCache()

    def _kernel(self, variant: MoveVariant) -> Any:
        from ep.cuda.engine.move import move

        return move.kernel(*variant)

    def _usual_variant(self) -> MoveVariant:
        return MoveVariant(2, PACK_BYTES, 0, 32)

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
        dims = dst_dims, dst_pos, src_dims, src_pos, extent
        box = self._boxes.find(*dims) or self._box(*dims)
        dst, src = self._read(stream, (dst, src), box.counts, types=(data_type, data_type))
        if box.is_empty:
            return
        size = data_type.itemsize
        # boxes of two buffers that share no memory cannot overlap
        if dst < src + box.counts[1] * size and src < dst + box.counts[0] * size:
            box.given.check_overlap(dst - src, size)
        dst, src = dst + box.offsets[0] * size, src + box.offsets[1] * size
        key = size, widest_unit(src), widest_unit(dst)
        plan = box.plans.get(key)
        if plan is None:
            plan = box.plans[key] = move_plan(box.given.walk(), *key)
        self._queue(stream, plan.variant, plan.num_items, src, dst, *plan.words)

    def _box(self, dst_dims: Any, dst_pos: Any, src_dims: Any, src_pos: Any, extent: Any) -> _Box:
        given = as_box_copy(dst_dims, dst_pos, src_dims, src_pos, extent, self.request.max_num_dims)
        return self._boxes.keep(tuple(given), lambda: _Box(given))
