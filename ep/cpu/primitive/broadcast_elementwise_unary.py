"""BroadcastElementwiseUnary on the CPU: the map engine over a strided walk, or the move engine for plain copies."""

from __future__ import annotations

from typing import Final

from ep.common.primitive import signatures
from ep.common.primitive.expand_shape import ExpandShape
from ep.common.primitive.keys import BROADCAST_ELEMENTWISE_UNARY
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.loop_nest import LoopNest
from ep.cpu.engine.map.plan import strided_plan
from ep.cpu.engine.map.state import MapState
from ep.cpu.engine.move.run_writer import RunWriter, run_writers
from ep.cpu.primitive.expand import StridedCopy
from ep.cpu.primitive.strided import StridedPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.broadcast_elementwise_unary import BroadcastElementwiseUnary, BroadcastElementwiseUnaryFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Key
from ep.include.primitive.unary_op import UnaryOp

_MOVES: Final = frozenset(
    Key(op, (src, dst))
    for op, (src, dst) in BROADCAST_ELEMENTWISE_UNARY
    if op is UnaryOp.kIdentity or (op is UnaryOp.kCast and src is dst)
)
"""The keys whose results are copies of the elements."""


@implements(BroadcastElementwiseUnaryFactory, on=DeviceType.kCPU, keys=BROADCAST_ELEMENTWISE_UNARY - _MOVES)
class BroadcastElementwiseUnaryImpl(StridedPrimitive, BroadcastElementwiseUnary):
    signature, state_record, number_operands = signatures.BROADCAST_ELEMENTWISE_UNARY, MapState, ("src",)

    def _compile(self) -> Launcher:
        from ep.cpu.kernels.elementwise import broadcast_launcher

        return broadcast_launcher(self.request, self.signature, self._state)

    def _provide(self) -> None:
        super()._provide()
        from ep.cpu.kernels.elementwise import set_streaming

        set_streaming(self.request, self._state)

    def _compile_variants(self) -> None:
        super()._compile_variants()
        sizes = {data_type.itemsize for data_type in self._types}
        writers = [writer for size in sizes for writer in run_writers(size, size)]
        self._compile_writers([*writers, RunWriter("transpose_tile", self._types[0].itemsize)])

    def _plan(self, shape: ExpandShape, counts: tuple[int, int]) -> LoopNest:
        return strided_plan(self.signature, shape.walk(), self._types, counts)


@implements(BroadcastElementwiseUnaryFactory, on=DeviceType.kCPU, keys=_MOVES)
class BroadcastIdentityImpl(StridedCopy, BroadcastElementwiseUnary):
    number_operands = ("src",)
