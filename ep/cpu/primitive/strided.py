"""What the CPU's primitives of one operand have in common whose launches have dims and strides on both sides."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ep.common.numbers import Numbers
from ep.common.primitive.expand_shape import ExpandShape, as_expand_shape
from ep.common.scalar import is_scalar
from ep.cpu.device.stream import CpuStream
from ep.cpu.engine.plan import Plan
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream


class StridedPrimitive(PlannedPrimitive):
    """A launch walks over dst in the order of its strides, and reads src by its own."""

    takes_numbers = False
    """Whether src may be a plain number where it has no dims."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._numbers = Numbers(self._types[0])

    @abstractmethod
    def _plan(self, shape: ExpandShape, counts: tuple[int, int]) -> Plan:
        """The plan of launches of such dims and strides; counts: those of the shape."""

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
                plan = self._find_plan(dims)
        except (TypeError, ValueError):  # dims in a list, or in an array
            plan = None
        if plan is None or type(stream) is not CpuStream or self._entry(self._words, plan.words, dims, src, dst):
            self._launch_dims(stream, dims, src, dst)

    def _launch_dims(self, stream: Stream, dims: tuple[Any, Any, Any, Any], src: Any, dst: Any) -> None:
        """Check a launch in Python, then do it. Apart from Launch, which would be slower with a closure in it."""
        shape = as_expand_shape(*dims, self.request.max_num_dims)
        if self.takes_numbers and shape.src_dims == () and is_scalar(src):
            src = self._numbers.array(src, "src")
        counts = shape.counts()
        self._launch_planned(stream, shape.key, counts, (src, dst), lambda: self._plan(shape, counts))
