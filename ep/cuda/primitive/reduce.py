"""Reduce on CUDA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ep.common.bounded_cache import BoundedCache
from ep.common.primitive import signatures
from ep.common.primitive.keys import REDUCE
from ep.common.primitive.movement import widest_unit
from ep.common.primitive.reduce_shape import Axis, ReduceShape, as_reduce_shape, check_reduces_something
from ep.common.stored_types import stored_as, unit_of
from ep.cuda.compile.launch_config import PACK_BYTES
from ep.cuda.device.stream import CudaStream, check_stream
from ep.cuda.engine.reduce.plan import STATE_BYTES, ColumnVariant, FinishVariant, ReducePlan, RowVariant, reduce_plan
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.number_kind import PART, Kind, number_kind
from ep.include.primitive.implements import implements
from ep.include.primitive.op_table import REDUCTIONS
from ep.include.primitive.primitive import Request
from ep.include.primitive.reduce import Reduce, ReduceFactory
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.stream import Stream

_BY_SIZE: Final = ReduceOp.kSum, ReduceOp.kProd, ReduceOp.kAny, ReduceOp.kAll
"""What is the same for integers with and without sign."""


class _Shape:
    """What follows from dims and axes; plans: those that were made, by the alignment of src."""

    __slots__ = ("axes", "counts", "plans")

    def __init__(self, given: ReduceShape, in_parts: bool) -> None:
        """in_parts: whether the two parts of complex numbers are reduced each for itself."""
        self.counts = num_src, num_dst = given.counts()
        axes = given.simplified() if num_src else (Axis(num_dst, False), Axis(0, True))
        self.axes = (*axes, Axis(2, False)) if in_parts else axes
        self.plans: dict[int, ReducePlan] = {}


@implements(ReduceFactory, on=DeviceType.kCUDA, keys=REDUCE)
class ReduceImpl(CudaPrimitive, Reduce):
    signature = signatures.REDUCE
    op: ReduceOp

    def __init__(self, request: Request) -> None:
        self.op, (data_type,) = request.op, request.dtypes  # type: ignore[assignment, misc]
        super().__init__(request)
        self._in_parts = number_kind(data_type) is Kind.COMPLEX and self.op in (ReduceOp.kSum, ReduceOp.kMean)
        self._src_type = self._stored(data_type)
        self._dst_type = self._types[1] if self._types[1] is DataType.kBool else self._src_type
        self._shapes = BoundedCache()

    def _data_types(self, request: Request) -> Sequence[DataType]:
        (data_type,) = request.dtypes or ()
        return data_type, REDUCTIONS[self.op].result_type(data_type)

    def _stored(self, data_type: DataType) -> DataType:
        """The data type whose kernels serve elements of `data_type`."""
        if self._in_parts:
            return PART[data_type]
        by_size = number_kind(data_type) is Kind.INTEGER and self.op in _BY_SIZE
        return unit_of(data_type) if by_size else stored_as(data_type)

    def _kernel(self, variant: RowVariant | ColumnVariant | FinishVariant) -> Any:
        from ep.cuda.engine.reduce.kernel import kernel

        return kernel(self.op, self._src_type, self._dst_type, variant)

    def _usual_variant(self) -> RowVariant | ColumnVariant:
        shape = _Shape(ReduceShape((1, 1024), (1,)), self._in_parts)
        return reduce_plan(shape.axes, self._src_type.itemsize, PACK_BYTES).variant

    def Launch(self, stream: Stream, src_dims: Sequence[int], src: Any, axes: Sequence[int], dst: Any) -> None:
        stream = check_stream(stream)
        shape = self._shapes.find(src_dims, axes) or self._shape(src_dims, axes)
        src, dst = self._read(stream, (src, dst), shape.counts)
        if not shape.counts[1]:
            return
        alignment = widest_unit(src)
        plan = shape.plans.get(alignment)
        if plan is None:
            plan = shape.plans[alignment] = reduce_plan(shape.axes, self._src_type.itemsize, alignment)
        if plan.parts == 1:
            self._queue_part(stream, plan, src, dst)
        else:
            self._queue_in_parts(stream, plan, src, dst)

    def _queue_part(self, stream: CudaStream, plan: ReducePlan, src: int, dst: int) -> None:
        self._queue_grid(stream, plan.variant, plan.grid, src, dst, *plan.words, plan.per_result, *plan.walks)

    def _queue_in_parts(self, stream: CudaStream, plan: ReducePlan, src: int, dst: int) -> None:
        """Queue the kernel that makes states of the parts, in memory of their own, and the one that merges them."""
        memory = stream.AllocAsync(plan.num_results * plan.parts * STATE_BYTES)
        try:
            self._queue_part(stream, plan, src, memory.address)
            words = memory.address, dst, plan.num_results, plan.parts, plan.per_result
            self._queue_grid(stream, plan.finish, plan.finish_grid, *words)
        finally:
            stream.FreeAsync(memory)

    def _shape(self, src_dims: Any, axes: Any) -> _Shape:
        given = as_reduce_shape(src_dims, axes, self.request.max_num_dims)
        check_reduces_something(self.op, given)
        return self._shapes.keep(tuple(given), lambda: _Shape(given, self._in_parts))
