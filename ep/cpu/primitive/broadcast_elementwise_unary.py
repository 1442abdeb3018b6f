"""BroadcastElementwiseUnary on the CPU: the map engine over a strided walk; what only moves goes by the move engine."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.expand_shape import ExpandShape
from ep.common.primitive.keys import BROADCAST_ELEMENTWISE_UNARY
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.map.plan import strided_plan
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.engine.move.row_writer import RowWriter, row_writers
from ep.cpu.engine.plan import Plan
from ep.cpu.primitive.expand import StridedCopy
from ep.cpu.primitive.strided import StridedPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.broadcast_elementwise_unary import BroadcastElementwiseUnary, BroadcastElementwiseUnaryFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.primitive.unary_op import UnaryOp


class BroadcastElementwiseUnaryImpl(StridedPrimitive, BroadcastElementwiseUnary):
    signature, state_layout, takes_numbers = signatures.BROADCAST_ELEMENTWISE_UNARY, MAP_STATE, True

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
        writers = [writer for size in sizes for writer in row_writers(size, size)]
        self._compile_writers([*writers, RowWriter("transpose_tile", self._types[0].itemsize)])

    def _plan(self, shape: ExpandShape, counts: tuple[int, int]) -> Plan:
        return strided_plan(self.signature, shape.walk(), self._types, counts)


class BroadcastIdentityImpl(StridedCopy, BroadcastElementwiseUnary):
    takes_numbers = True


@register_primitive_factory(DeviceType.kCPU, BroadcastElementwiseUnaryFactory)
class BroadcastElementwiseUnaryFactoryImpl(BroadcastElementwiseUnaryFactory):
    keys = BROADCAST_ELEMENTWISE_UNARY

    def Make(self, request: Request) -> BroadcastElementwiseUnary:
        return (BroadcastIdentityImpl if _only_moves(request) else BroadcastElementwiseUnaryImpl)(request)


def _only_moves(request: Request) -> bool:
    """Whether results are the elements as they are: kIdentity, and kCast to the type that they have."""
    src, dst = request.dtypes or ()
    return request.op is UnaryOp.kIdentity or (request.op is UnaryOp.kCast and src is dst)
