"""The base class of the CPU's primitives that broadcast several operands, each with dims of its own."""

from __future__ import annotations

import math
from itertools import repeat
from typing import Any

import numpy as np

from ep.common.checks import as_dims
from ep.common.primitive.broadcast import broadcast_dims
from ep.cpu.engine.map.plan import broadcast_plan
from ep.cpu.engine.map.state import MapState
from ep.cpu.primitive.cpu_primitive import NO_DIMS, PlannedPrimitive
from ep.include.primitive.primitive import Request


class BroadcastPrimitive(PlannedPrimitive):
    """A primitive of the map engine over a broadcast walk; an operand with dims () may be a plain number."""

    state_record = MapState

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._dims_names = tuple(f"{operand}_dims" for operand in self.number_operands)

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *numbers: Any) -> None:
        given: list[Any] = []
        arrays, operands = [], [*buffers]
        for place, each in enumerate(sizes):
            array = self._array_of(place, operands[place]) if each is NO_DIMS else None
            given += (each, np.ndarray if array is None else operands[place])
            arrays.append(array)
            if array is not None:
                operands[place] = array
        self._launch_by_dims(stream, sizes, tuple(operands), given=tuple(given), arrays=tuple(arrays))

    def _launch_dims(self, stream: Any, dims: Any, buffers: Any, data_type: Any = None) -> None:
        names, most = self._dims_names, self.request.max_num_dims or 0
        each = tuple(map(as_dims, dims, names, repeat(most)))
        result = broadcast_dims(*each, names=names)
        counts = tuple(map(math.prod, (*each, result)))
        buffers = list(buffers)
        for place, own in enumerate(each):
            array = self._array_of(place, buffers[place]) if own == () else None
            if array is not None:  # a number whose dims were given as a list
                buffers[place] = array
        self._launch_planned(
            stream,
            each,
            counts,
            buffers,
            lambda: broadcast_plan(self.signature, each, result, self._types, counts),
        )
