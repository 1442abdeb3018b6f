"""BroadcastElementwiseBinary on CUDA."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import BROADCAST_ELEMENTWISE_BINARY
from ep.common.scalar import convert_scalar
from ep.cuda.engine.map.plan import MapShape, checked_shape
from ep.cuda.primitive.op_primitive import OpPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.broadcast_elementwise_binary import (
    BroadcastElementwiseBinary,
    BroadcastElementwiseBinaryFactory,
)
from ep.include.primitive.implements import implements


@implements(BroadcastElementwiseBinaryFactory, on=DeviceType.kCUDA, keys=BROADCAST_ELEMENTWISE_BINARY)
class BroadcastElementwiseBinaryImpl(OpPrimitive, BroadcastElementwiseBinary):
    signature = signatures.BROADCAST_ELEMENTWISE_BINARY
    convert_number = staticmethod(convert_scalar)

    def _check(self, dims: Any) -> tuple[Hashable, MapShape]:
        return checked_shape(dims, ("src0_dims", "src1_dims"), self.request.max_num_dims)
