"""Reduce on CUDA."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import REDUCE
from ep.common.primitive.movement import widest_unit
from ep.common.primitive.reduce_shape import as_reduce_shape, check_reduces_something
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.reduce.plan import Variant
from ep.cuda.engine.reduce.shape import Shape, stored_for, usual_variant
from ep.cuda.primitive.planned_primitive import PlannedPrimitive
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.primitive.reduce import Reduce, ReduceFactory


@implements(ReduceFactory, on=DeviceType.kCUDA, keys=REDUCE)
class ReduceImpl(PlannedPrimitive, Reduce):
    signature = signatures.REDUCE

    def __init__(self, request: Request) -> None:
        op: Any = request.op
        (data_type,) = request.dtypes or ()
        self._stored = stored_for(op, data_type)
        super().__init__(request)

    def _data_types(self, request: Request) -> Sequence[DataType]:
        return self._stored.types

    def _kernel(self, variant: Variant) -> Any:
        from ep.cuda.engine.reduce.kernel import kernel

        return kernel(self._stored.op, self._stored.loaded, self._stored.written, variant)

    def _usual_variant(self) -> Variant:
        return usual_variant(self._stored)

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        stream, shape = check_stream(stream), self._shape(*sizes)
        src, dst = self._read(stream, buffers, shape.counts)
        if shape.counts[1]:
            plan = shape.plan(widest_unit(src))
            self._queue_parts(stream, (plan.variant, plan.finish), plan, dst, (src,))

    def _check(self, dims: tuple[Any, Any]) -> tuple[Hashable, Shape]:
        given = as_reduce_shape(*dims, self.request.max_num_dims)
        check_reduces_something(self._stored.op, given)
        return given, Shape(given, self._stored)
