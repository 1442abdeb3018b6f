"""BroadcastElementwiseBinary on CUDA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.checks import as_dims
from ep.common.primitive import signatures
from ep.common.primitive.keys import BROADCAST_ELEMENTWISE_BINARY
from ep.common.scalar import convert_scalar
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.map.plan import MapShape, map_shape
from ep.cuda.primitive.op_primitive import OpPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.broadcast_elementwise_binary import (
    BroadcastElementwiseBinary,
    BroadcastElementwiseBinaryFactory,
)
from ep.include.primitive.implements import implements
from ep.include.stream import Stream


@implements(BroadcastElementwiseBinaryFactory, on=DeviceType.kCUDA, keys=BROADCAST_ELEMENTWISE_BINARY)
class BroadcastElementwiseBinaryImpl(OpPrimitive, BroadcastElementwiseBinary):
    signature = signatures.BROADCAST_ELEMENTWISE_BINARY
    convert_number = staticmethod(convert_scalar)

    def Launch(
        self, stream: Stream, src0_dims: Sequence[int], src0: Any, src1_dims: Sequence[int], src1: Any, dst: Any
    ) -> None:
        stream = check_stream(stream)
        shape = self._shapes.find(src0_dims, src1_dims) or self._shape(src0_dims, src1_dims)
        self._launch(stream, shape, (src0, src1, dst))

    def _shape(self, src0_dims: Any, src1_dims: Any) -> MapShape:
        max_num_dims = self.request.max_num_dims or 0
        dims = as_dims(src0_dims, "src0_dims", max_num_dims), as_dims(src1_dims, "src1_dims", max_num_dims)
        return self._shapes.keep(dims, lambda: map_shape(dims, ("src0_dims", "src1_dims")))
