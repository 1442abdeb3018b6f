"""Reduce on the CPU: the reduce engine, by rows or by columns."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import REDUCE
from ep.common.primitive.reduce_shape import as_reduce_shape, check_reduces_something, of_nothing
from ep.cpu.engine.loop_nest import LoopNest
from ep.cpu.engine.reduce.plan import reduce_plan
from ep.cpu.engine.reduce.state import ReduceState
from ep.cpu.primitive.reduce_primitive import ReducePrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.op_table import REDUCTIONS
from ep.include.primitive.primitive import Request
from ep.include.primitive.reduce import ReduceFactory


@implements(ReduceFactory, on=DeviceType.kCPU, keys=REDUCE)
class ReduceImpl(ReducePrimitive):
    signature, state_record = signatures.REDUCE, ReduceState

    def __init__(self, request: Request) -> None:
        self.op, (self.data_type,) = request.op, request.dtypes  # type: ignore[assignment, misc]
        super().__init__(request)

    def _data_types(self, request: Request) -> Any:
        return self.data_type, REDUCTIONS[self.op].result_type(self.data_type)

    def _launch_dims(self, stream: Any, dims: tuple[Any, Any], buffers: Any, data_type: Any = None) -> None:
        shape = as_reduce_shape(*dims, self.request.max_num_dims)
        counts = shape.counts()
        if 0 in counts:
            _, result = self._checked(stream, buffers, counts)
            check_reduces_something(self.op, shape)
            self._fill(stream, result, of_nothing(self.op), counts[1])
            return
        axes = shape.simplified()

        def make() -> LoopNest:
            return reduce_plan(self.signature, self.op, self.data_type, axes, counts)

        self._launch_planned(stream, shape, counts, buffers, make)
