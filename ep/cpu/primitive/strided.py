"""The base class of the CPU's primitives of one operand with dims and strides on both sides."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ep.common.primitive.expand_shape import ExpandShape, as_expand_shape
from ep.cpu.engine.loop_nest import LoopNest
from ep.cpu.primitive.cpu_primitive import NO_DIMS, PlannedPrimitive


class StridedPrimitive(PlannedPrimitive):
    """A primitive that walks over dst in the order of its strides, and reads src by its strides.

    number_operands: src, or none.
    """

    @abstractmethod
    def _plan(self, shape: ExpandShape, counts: tuple[int, int]) -> LoopNest:
        """Return the plan of launches with these dims and strides. counts: those of the shape."""

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *numbers: Any) -> None:
        if not self.number_operands:
            self._launch_by_dims(stream, sizes, buffers)
            return
        (src, dst), (src_dims, *others) = buffers, sizes
        array = self._array_of(0, src) if src_dims is NO_DIMS else None
        given = src_dims, np.ndarray if array is None else src, *others
        src = src if array is None else array
        self._launch_by_dims(stream, sizes, (src, dst), given=given, arrays=(array,))

    def _launch_dims(self, stream: Any, dims: tuple[Any, Any, Any, Any], buffers: Any, data_type: Any = None) -> None:
        src, dst = buffers
        shape = as_expand_shape(*dims, self.request.max_num_dims)
        if self.number_operands and shape.src_dims == ():
            array = self._array_of(0, src)
            src = src if array is None else array
        counts = shape.counts()
        self._launch_planned(stream, shape.key, counts, (src, dst), lambda: self._plan(shape, counts))
