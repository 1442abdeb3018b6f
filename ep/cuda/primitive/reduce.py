"""Reduce on CUDA."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import REDUCE
from ep.common.primitive.movement import widest_unit
from ep.common.primitive.reduce_shape import ReduceShape, as_reduce_shape, check_reduces_something
from ep.cuda.compile.launch_config import PACK_BYTES
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.reduce.plan import STATE_BYTES, ColumnVariant, FinishVariant, RowVariant
from ep.cuda.engine.reduce.shape import Shape, stored_for
from ep.cuda.primitive.planned_primitive import PlannedPrimitive
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.op_table import REDUCTIONS
from ep.include.primitive.primitive import Request
from ep.include.primitive.reduce import Reduce, ReduceFactory
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.stream import Stream


@implements(ReduceFactory, on=DeviceType.kCUDA, keys=REDUCE)
class ReduceImpl(PlannedPrimitive, Reduce):
    signature = signatures.REDUCE
    op: ReduceOp

    def __init__(self, request: Request) -> None:
        self.op, (data_type,) = request.op, request.dtypes  # type: ignore[assignment, misc]
        super().__init__(request)
        self._in_parts, self._src_type = stored_for(self.op, data_type)
        self._dst_type = self._types[1] if self._types[1] is DataType.kBool else self._src_type

    def _data_types(self, request: Request) -> Sequence[DataType]:
        (data_type,) = request.dtypes or ()
        return data_type, REDUCTIONS[self.op].result_type(data_type)

    def _kernel(self, variant: RowVariant | ColumnVariant | FinishVariant) -> Any:
        from ep.cuda.engine.reduce.kernel import kernel

        return kernel(self.op, self._src_type, self._dst_type, variant)

    def _usual_variant(self) -> RowVariant | ColumnVariant:
        return Shape(ReduceShape((1, 1024), (1,)), self._in_parts).plan(self._src_type, PACK_BYTES).variant

    def Launch(self, stream: Stream, src_dims: Sequence[int], src: Any, axes: Sequence[int], dst: Any) -> None:
        stream, shape = check_stream(stream), self._shape(src_dims, axes)
        src, dst = self._read(stream, (src, dst), shape.counts)
        if not shape.counts[1]:
            return
        plan = shape.plan(self._src_type, widest_unit(src))
        if plan.parts == 1:
            self._queue_grid(stream, plan.variant, plan.grid, src, dst, *plan.part_words)
            return
        with stream.scratch(plan.num_results * plan.parts * STATE_BYTES) as memory:
            self._queue_grid(stream, plan.variant, plan.grid, src, memory.address, *plan.part_words)
            self._queue_grid(stream, plan.finish, plan.finish_grid, memory.address, dst, *plan.finish_words)

    def _check(self, dims: tuple[Any, Any]) -> tuple[Hashable, Shape]:
        given = as_reduce_shape(*dims, self.request.max_num_dims)
        check_reduces_something(self.op, given)
        return given, Shape(given, self._in_parts)
