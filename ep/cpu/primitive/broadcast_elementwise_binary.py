"""BroadcastElementwiseBinary on the CPU: the map engine, over a broadcast walk."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import BROADCAST_ELEMENTWISE_BINARY
from ep.common.scalar import convert_scalar
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.move.run_writer import run_writers
from ep.cpu.primitive.broadcast_primitive import BroadcastPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.broadcast_elementwise_binary import (
    BroadcastElementwiseBinary,
    BroadcastElementwiseBinaryFactory,
)
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request


@implements(BroadcastElementwiseBinaryFactory, on=DeviceType.kCPU, keys=BROADCAST_ELEMENTWISE_BINARY)
class BroadcastElementwiseBinaryImpl(BroadcastPrimitive, BroadcastElementwiseBinary):
    signature, number_operands = signatures.BROADCAST_ELEMENTWISE_BINARY, ("src0", "src1")
    convert_number = staticmethod(convert_scalar)

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.src_type, self.dst_type = request.dtypes or ()

    def _compile(self) -> Launcher:
        from ep.cpu.kernels.elementwise import broadcast_launcher

        return broadcast_launcher(self.request, self.signature, self._state)

    def _compile_variants(self) -> None:
        super()._compile_variants()
        self._compile_writers(run_writers(self.src_type.itemsize, self.src_type.itemsize))

    def _compile_streaming(self) -> None:
        super()._compile_streaming()
        from ep.cpu.kernels.elementwise import set_streaming

        set_streaming(self.request, self._state)
