"""What the CPU's primitives of one operand have in common whose launches have dims and strides on both sides."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ep.common.numbers import Numbers
from ep.common.primitive.expand_shape import ExpandShape, as_expand_shape
from ep.common.scalar import is_scalar
from ep.cpu.engine.launchable import launched
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

    @launched
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
        self._launch_by_dims(stream, (src_dims, dst_dims, src_strides, dst_strides), (src, dst))

    def _launch_dims(self, stream: Any, dims: tuple[Any, Any, Any, Any], buffers: Any, data_type: Any = None) -> None:
        src, dst = buffers
        shape = as_expand_shape(*dims, self.request.max_num_dims)
        if self.takes_numbers and shape.src_dims == () and is_scalar(src):
            src = self._numbers.array(src, "src")
        counts = shape.counts()
        self._launch_planned(stream, shape.key, counts, (src, dst), lambda: self._plan(shape, counts))
