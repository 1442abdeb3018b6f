"""Permute on CUDA."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import PERMUTE
from ep.common.primitive.permute_shape import as_permute_shape
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.move.permute_plan import permute_plan
from ep.cuda.engine.move.plan import MoveVariant
from ep.cuda.engine.move.tile import TileVariant, usual_tile
from ep.cuda.primitive.move_primitive import MovePrimitive, Shape
from ep.include.data_type import as_data_type
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.permute import Permute, PermuteFactory


@implements(PermuteFactory, on=DeviceType.kCUDA, keys=PERMUTE)
class PermuteImpl(MovePrimitive, Permute):
    signature = signatures.PERMUTE

    def _kernel(self, variant: MoveVariant | TileVariant) -> Any:
        from ep.cuda.engine.move import transpose

        return transpose.kernel(*variant) if isinstance(variant, TileVariant) else super()._kernel(variant)

    def _usual_variant(self) -> TileVariant:
        return TileVariant(usual_tile(), 2, 32)

    def _check(self, dims: tuple[Any, Any]) -> tuple[Hashable, Shape]:
        given = as_permute_shape(*dims, self.request.max_num_dims)
        return given, Shape(given, (given.num_elements(),) * 2, partial(permute_plan, given))

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *others: Any) -> None:
        stream, (data_type,) = check_stream(stream), others
        data_type = as_data_type(data_type, "data_type")
        shape = self._shape(*sizes)
        src, dst = self._read(stream, buffers, shape.counts, types=(data_type, data_type))
        if shape.counts[1]:
            self._move(stream, shape, data_type.itemsize, src, dst)
