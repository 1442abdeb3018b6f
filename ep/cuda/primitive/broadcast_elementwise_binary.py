"""BroadcastElementwiseBinary on CUDA."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import BROADCAST_ELEMENTWISE_BINARY
from ep.common.scalar import convert_scalar
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.map.plan import MapShape, checked_shape
from ep.cuda.launch.known import launched
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

    @launched
    def Launch(
        self, stream: Stream, src0_dims: Sequence[int], src0: Any, src1_dims: Sequence[int], src1: Any, dst: Any
    ) -> None:
        stream, shape = check_stream(stream), self._shape(src0_dims, src1_dims)
        self._launch(stream, shape, (src0, src1, dst))

    def _check(self, dims: Any) -> tuple[Hashable, MapShape]:
        return checked_shape(dims, ("src0_dims", "src1_dims"), self.request.max_num_dims)
