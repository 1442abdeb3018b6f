"""BroadcastElementwiseBinary on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.common.checks import as_dims
from ep.common.primitive.broadcast import StridedWalk, broadcast_dims, simplify_broadcast_dims
from ep.common.primitive.keys import BROADCAST_ELEMENTWISE_BINARY
from ep.common.primitive.strides import contiguous_strides, expanded_strides
from ep.common.scalar import convert_scalar, is_scalar, number_key
from ep.cpu.buffers import as_buffer, check_overlap, check_stream
from ep.cpu.plan import Plan, expand_plan
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.cpu.stream import CpuStream
from ep.include.device_type import DeviceType
from ep.include.primitive.broadcast_elementwise_binary import (
    BroadcastElementwiseBinary,
    BroadcastElementwiseBinaryFactory,
)
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream


class BroadcastElementwiseBinaryImpl(CpuPrimitive, BroadcastElementwiseBinary):
    def __init__(self, request: Request) -> None:
        self.src_type, self.dst_type = request.dtypes or ()
        self._plans, self._numbers = BoundedCache(), BoundedCache()
        self._last: tuple[Any, Plan | None] = None, None  # of the launch before: found without hashing
        super().__init__(request, (self.src_type, self.src_type, self.dst_type))

    def _compile(self) -> tuple[Callable[..., int], int, int]:
        from ep.cpu.kernels import broadcast_elementwise_binary as kernels
        from ep.cpu.kernels.grain import grain_elements

        self._state.set_grain(grain_elements(self.request.op, (self.src_type, self.src_type, self.dst_type)))  # type: ignore[arg-type]
        row_kernel = kernels.row_kernel(self.request.op, self.src_type, self.dst_type)  # type: ignore[arg-type]
        return kernels.entry(), kernels.walk(), row_kernel

    def _compile_variants(self) -> None:
        super()._compile_variants()
        from ep.cpu.kernels.expand_rows import compile_writers

        compile_writers(self.src_type.itemsize, self.src_type.itemsize)

    def Launch(
        self, stream: Stream, src0_dims: Sequence[int], src0: Any, src1_dims: Sequence[int], src1: Any, dst: Any
    ) -> None:
        key = src0_dims, src1_dims
        last_key, plan = self._last
        try:
            if key != last_key:
                plan = self._plans.get(key)
                if plan is not None:
                    self._last = key, plan
        except (TypeError, ValueError):  # dims in a list, or in an array
            plan = None
        if (
            plan is None
            or type(stream) is not CpuStream
            or self._entry(self._words, plan.words, src0_dims, src0, src1_dims, src1, dst)
        ):
            self._launch_checked(stream, src0_dims, src0, src1_dims, src1, dst)

    def _launch_checked(
        self, stream: Stream, src0_dims: Sequence[int], src0: Any, src1_dims: Sequence[int], src1: Any, dst: Any
    ) -> None:
        max_num_dims = self.request.max_num_dims or 0
        dims0 = as_dims(src0_dims, "src0_dims", max_num_dims)
        dims1 = as_dims(src1_dims, "src1_dims", max_num_dims)
        if dims0 == () and is_scalar(src0):
            return self.Launch(stream, dims0, self._number(src0, "src0"), src1_dims, src1, dst)
        if dims1 == () and is_scalar(src1):
            return self.Launch(stream, src0_dims, src0, dims1, self._number(src1, "src1"), dst)
        check_stream(stream)
        count = math.prod(broadcast_dims(dims0, dims1, names=("src0_dims", "src1_dims")))
        count0, count1 = math.prod(dims0), math.prod(dims1)
        src0 = as_buffer(src0, "src0", self.src_type, count0)
        src1 = as_buffer(src1, "src1", self.src_type, count1)
        dst = as_buffer(dst, "dst", self.dst_type, count, writable=True)
        check_overlap(dst, count, "dst", src0, count0, "src0", in_place=count0 == count)
        check_overlap(dst, count, "dst", src1, count1, "src1", in_place=count1 == count)
        if count:
            plan = self._plans.keep((dims0, dims1), lambda: _plan(dims0, dims1, self.src_type.itemsize))
            self._run(plan.words, dims0, src0, dims1, src1, dst)

    def _number(self, number: Any, argument: str) -> np.ndarray[Any, Any]:
        """A plain number as an operand: an array without dims, kept for the next launch with that number."""
        key = number_key(number)
        array = self._numbers.get(key)
        if array is None:
            array = np.array(convert_scalar(number, self.src_type, argument), self.src_type.dtype)
            self._numbers.keep(key, lambda: array)
        return array


def _is_short(row: int, itemsize: int) -> bool:
    """Whether an operand that is broadcast is written out first: rows of `row` elements would fill no vector."""
    return row < 16 and row * itemsize < 32


def _plan(dims0: tuple[int, ...], dims1: tuple[int, ...], itemsize: int) -> Plan:
    (simple0, simple1), dims = simplify_broadcast_dims(dims0, dims1)
    strides0, strides1 = (_strides(simple, len(dims)) for simple in (simple0, simple1))
    count, count0, count1 = math.prod(dims), math.prod(dims0), math.prod(dims1)
    fill0, fill1 = (
        expand_plan(StridedWalk(dims, strides, contiguous_strides(dims)), itemsize)
        if len(dims) > 1 and _is_short(dims[-1], itemsize) and operand_count != count
        else None
        for strides, operand_count in ((strides0, count0), (strides1, count1))
    )
    in_place = count0 == count, count1 == count
    return Plan(dims, (strides0, strides1), (count0, count1), in_place, fills=(fill0, fill1))


def _strides(dims: tuple[int, ...], num_dims: int) -> tuple[int, ...]:
    return expanded_strides(dims, contiguous_strides(dims), num_dims)


@register_primitive_factory(DeviceType.kCPU, BroadcastElementwiseBinaryFactory)
class BroadcastElementwiseBinaryFactoryImpl(BroadcastElementwiseBinaryFactory):
    keys = BROADCAST_ELEMENTWISE_BINARY

    def Make(self, request: Request) -> BroadcastElementwiseBinary:
        return BroadcastElementwiseBinaryImpl(request)
