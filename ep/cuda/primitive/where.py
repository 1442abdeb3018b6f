"""Where on CUDA: elements are copied unchanged, so kernels depend only on their sizes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import WHERE
from ep.common.stored_types import unit_of
from ep.cuda.engine.map.plan import MapShape, checked_shape
from ep.cuda.primitive.map_primitive import MapPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.primitive.where import Where, WhereFactory

if TYPE_CHECKING:
    from ep.cuda.engine.map.functor import Functor


@implements(WhereFactory, on=DeviceType.kCUDA, keys=WHERE)
class WhereImpl(MapPrimitive, Where):
    signature = signatures.WHERE

    def __init__(self, request: Request) -> None:
        cond, unit = map(unit_of, request.dtypes or ())
        super().__init__(request, (cond, unit, unit, unit))

    def _functor(self) -> Functor:
        from ep.cuda.kernels.where import functor

        return functor(*self.stored[:2])

    def _check(self, dims: Any) -> tuple[Hashable, MapShape]:
        return checked_shape(dims, ("cond_dims", "x_dims", "y_dims"), self.request.max_num_dims)
