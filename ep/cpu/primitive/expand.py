"""Expand on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ep.common.bounded_cache import BoundedCache
from ep.common.primitive.expand_shape import ExpandShape, as_expand_shape
from ep.common.primitive.keys import EXPAND
from ep.common.primitive.movement import widen
from ep.cpu.buffers import as_buffer, check_overlap, check_stream
from ep.cpu.plan import Plan, expand_plan
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.cpu.stream import CpuStream
from ep.include.device_type import DeviceType
from ep.include.primitive.expand import Expand, ExpandFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream


class ExpandImpl(CpuPrimitive, Expand):
    def __init__(self, request: Request) -> None:
        (self.data_type,) = request.dtypes or ()
        self._plans = BoundedCache()
        self._last: tuple[Any, Plan | None] = None, None  # dims and strides of the launch before, and their plan
        super().__init__(request, (self.data_type, self.data_type))

    def _compile(self) -> tuple[Callable[..., int], int, int]:
        from ep.cpu.kernels import expand as kernels

        return kernels.entry(), kernels.task(), 0

    def _compile_variants(self) -> None:
        super()._compile_variants()
        from ep.cpu.kernels.expand_rows import compile_writers

        compile_writers(self.data_type.itemsize)

    def Launch(
        self,
        stream: Stream,
        src_dims: Sequence[int],
        src: Any,
        dst_dims: Sequence[int],
        dst: Any,
        src_strides: Sequence[int] | None = None,
        dst_strides: Sequence[int] | None = None,
    ) -> None:
        key = src_dims, dst_dims, src_strides, dst_strides
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
            or self._entry(self._words, plan.words, src_dims, src, dst_dims, dst, src_strides, dst_strides)
        ):
            self._launch_checked(stream, src_dims, src, dst_dims, dst, src_strides, dst_strides)

    def _launch_checked(
        self,
        stream: Stream,
        src_dims: Sequence[int],
        src: Any,
        dst_dims: Sequence[int],
        dst: Any,
        src_strides: Sequence[int] | None,
        dst_strides: Sequence[int] | None,
    ) -> None:
        check_stream(stream)
        shape = as_expand_shape(src_dims, dst_dims, src_strides, dst_strides, self.request.max_num_dims)
        src_count, dst_count = shape.counts()
        src = as_buffer(src, "src", self.data_type, src_count)
        dst = as_buffer(dst, "dst", self.data_type, dst_count, writable=True)
        if not dst_count:
            return
        plan = self._plans.keep(shape.key, lambda: self._new_plan(shape))
        check_overlap(dst, dst_count, "dst", src, src_count, "src", in_place=plan.in_place[0])
        src_dims, dst_dims, src_strides, dst_strides = shape.key
        self._run(plan.words, src_dims, src, dst_dims, dst, src_strides, dst_strides)

    def _new_plan(self, shape: ExpandShape) -> Plan:
        walk = shape.walk()
        in_place = walk.src_strides == walk.dst_strides
        return expand_plan(*widen(walk, self.data_type.itemsize), shape.counts(), in_place)


@register_primitive_factory(DeviceType.kCPU, ExpandFactory)
class ExpandFactoryImpl(ExpandFactory):
    keys = EXPAND

    def Make(self, request: Request) -> Expand:
        return ExpandImpl(request)
