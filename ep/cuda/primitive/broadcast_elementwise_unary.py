"""BroadcastElementwiseUnary on CUDA."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.expand_shape import as_expand_shape
from ep.common.primitive.keys import BROADCAST_ELEMENTWISE_UNARY
from ep.cuda.engine.map.plan import MapShape, strided_shape
from ep.cuda.primitive.op_primitive import OpPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.broadcast_elementwise_unary import BroadcastElementwiseUnary, BroadcastElementwiseUnaryFactory
from ep.include.primitive.implements import implements


@implements(BroadcastElementwiseUnaryFactory, on=DeviceType.kCUDA, keys=BROADCAST_ELEMENTWISE_UNARY)
class BroadcastElementwiseUnaryImpl(OpPrimitive, BroadcastElementwiseUnary):
    signature = signatures.BROADCAST_ELEMENTWISE_UNARY

    def _check(self, dims: tuple[Any, Any, Any, Any]) -> tuple[Hashable, MapShape]:
        given = as_expand_shape(*dims, self.request.max_num_dims)
        return given.key, strided_shape(given)
