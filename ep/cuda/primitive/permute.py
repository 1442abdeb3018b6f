"""Permute on CUDA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.bounded_cache import BoundedCache
from ep.common.primitive import signatures
from ep.common.primitive.keys import PERMUTE
from ep.common.primitive.movement import widest_unit
from ep.common.primitive.permute_shape import PermuteShape, as_permute_shape
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.move.permute_plan import permute_plan
from ep.cuda.engine.move.plan import MovePlan, MoveVariant
from ep.cuda.engine.move.tile import TilePlan, TileVariant, usual_tile
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.data_type import DTypeLike, as_data_type
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.permute import Permute, PermuteFactory
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream


class _Shape:
    """What follows from dims and permutation; plans: those that were made, by element size and alignments."""

    __slots__ = ("count", "given", "plans")

    def __init__(self, given: PermuteShape) -> None:
        self.given, self.count = given, given.num_elements()
        self.plans: dict[tuple[int, int, int], MovePlan | TilePlan] = {}


@implements(PermuteFactory, on=DeviceType.kCUDA, keys=PERMUTE)
class PermuteImpl(CudaPrimitive, Permute):
    signature = signatures.PERMUTE

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._shapes = BoundedCache()

    def _kernel(self, variant: MoveVariant | TileVariant) -> Any:
        from ep.cuda.engine.move import move, transpose

        return transpose.kernel(*variant) if isinstance(variant, TileVariant) else move.kernel(*variant)

    def _usual_variant(self) -> TileVariant:
        return TileVariant(usual_tile(), 2, 32)

    def Launch(
        self,
        stream: Stream,
        data_type: DTypeLike,
        src_dims: Sequence[int],
        src: Any,
        permutation: Sequence[int],
        dst: Any,
    ) -> None:
        stream = check_stream(stream)
        data_type = as_data_type(data_type, "data_type")
        shape = self._shapes.find(src_dims, permutation) or self._shape(src_dims, permutation)
        count = shape.count
        src, dst = self._read(stream, (src, dst), (count, count), types=(data_type, data_type))
        if not count:
            return
        key = data_type.itemsize, widest_unit(src), widest_unit(dst)
        plan = shape.plans.get(key)
        if plan is None:
            plan = shape.plans[key] = permute_plan(shape.given.walk(), *key)
        self._queue(stream, plan.variant, plan.num_items, src, dst, *plan.words)

    def _shape(self, src_dims: Any, permutation: Any) -> _Shape:
        given = as_permute_shape(src_dims, permutation, self.request.max_num_dims)
        return self._shapes.keep(tuple(given), lambda: _Shape(given))
