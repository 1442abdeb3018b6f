"""TensorFill on CUDA: the map engine, with one element for all."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from ep.common.checks import as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import TENSOR_FILL
from ep.common.stored_types import unit_of
from ep.cuda.engine.map.access import Access, Variant
from ep.cuda.engine.map.plan import MapShape, filled_shape
from ep.cuda.primitive.map_primitive import MapPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.primitive.tensor_fill import TensorFill, TensorFillFactory
from ep.include.primitive.unary_op import UnaryOp

if TYPE_CHECKING:
    from ep.cuda.engine.map.functor import Functor


class CudaFill(MapPrimitive):
    """The base of Fill and TensorFill: elements are copied unchanged, and kernels depend only on their size."""

    access: Access

    def __init__(self, request: Request) -> None:
        (data_type,) = request.dtypes or ()
        super().__init__(request, (unit_of(data_type),) * 2)

    def _functor(self) -> Functor:
        from ep.cuda.engine.map.functor import functor_of

        return functor_of(UnaryOp.kIdentity, *self.stored)

    def _check(self, dims: Any) -> tuple[Hashable, MapShape]:
        count = as_size(dims[0], "count")
        return (count,), filled_shape(count)

    def _usual_variant(self) -> Variant:
        return Variant(self.elements, (self.access,))


@implements(TensorFillFactory, on=DeviceType.kCUDA, keys=TENSOR_FILL)
class TensorFillImpl(CudaFill, TensorFill):
    signature, access = signatures.TENSOR_FILL, Access.SINGLE
