"""Expand on the CPU: the move engine, over a strided walk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.expand_shape import as_expand_shape
from ep.common.primitive.keys import EXPAND
from ep.common.primitive.movement import MAX_UNIT
from ep.cpu.engine.move.plan import move_plan
from ep.cpu.engine.move.row_writer import row_writers
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.cpu.stream import CpuStream
from ep.include.device_type import DeviceType
from ep.include.primitive.expand import Expand, ExpandFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream


class ExpandImpl(PlannedPrimitive, Expand):
    signature = signatures.EXPAND

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        (self.data_type,) = request.dtypes or ()

    def _compile(self) -> Callable[..., int]:
        from ep.cpu.engine.move.entry import move_entry

        return move_entry("expand", self.signature, self._state)

    def _compile_variants(self) -> None:
        super()._compile_variants()
        self._compile_writers(row_writers(self.data_type.itemsize, MAX_UNIT))

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
        dims = src_dims, dst_dims, src_strides, dst_strides
        last_dims, plan = self._last
        try:
            if dims != last_dims:
                plan = self._plans.get(dims)
                if plan is not None:
                    self._last = dims, plan
        except (TypeError, ValueError):  # dims in a list, or in an array
            plan = None
        if plan is None or type(stream) is not CpuStream or self._entry(self._words, plan.words, dims, src, dst):
            self._launch_dims(stream, dims, src, dst)

    def _launch_dims(self, stream: Stream, dims: tuple[Any, Any, Any, Any], src: Any, dst: Any) -> None:
        """Check a launch in Python, then do it. Apart from Launch, which would be slower with a closure in it."""
        shape = as_expand_shape(*dims, self.request.max_num_dims)
        sizes = shape.counts()
        self._launch_planned(
            stream,
            shape.key,
            sizes,
            (src, dst),
            lambda: move_plan(self.signature, shape.walk(), self.data_type, sizes),
        )


@register_primitive_factory(DeviceType.kCPU, ExpandFactory)
class ExpandFactoryImpl(ExpandFactory):
    keys = EXPAND

    def Make(self, request: Request) -> Expand:
        return ExpandImpl(request)
