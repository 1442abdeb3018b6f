"""What the CPU's primitives have in common that broadcast several operands, each with dims of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.common.checks import as_dims
from ep.common.primitive.broadcast import broadcast_dims
from ep.cpu.engine.map.plan import broadcast_plan
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.primitive.primitive import Request


class BroadcastPrimitive(PlannedPrimitive):
    """A primitive of the map engine over a broadcast walk; an operand with dims () may be a plain number."""

    state_layout = MAP_STATE

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._dims_names = tuple(f"{operand}_dims" for operand in self.number_operands)

    def _launch_broadcast(self, stream: Any, dims: tuple[Any, ...], srcs: tuple[Any, ...], dst: Any) -> None:
        """Do a launch that compiled code has not done."""
        arrays = self._arrays_of_numbers(dims, srcs)
        given: list[Any] = []
        for each, src, array in zip(dims, srcs, arrays, strict=True):
            given += (each, np.ndarray if array is None else src)
        self._launch_by_dims(stream, dims, (*_replaced(srcs, arrays), dst), given=tuple(given), arrays=tuple(arrays))

    def _launch_dims(self, stream: Any, dims: Any, buffers: Any, data_type: Any = None) -> None:
        names, most = self._dims_names, self.request.max_num_dims or 0
        each = tuple([as_dims(given, name, most) for given, name in zip(dims, names, strict=True)])
        result = broadcast_dims(*each, names=names)
        *srcs, dst = buffers
        self._launch_planned(
            stream,
            each,
            tuple(map(math.prod, (*each, result))),
            (*_replaced(srcs, self._arrays_of_numbers(each, srcs)), dst),
            lambda: broadcast_plan(self.signature, each, self._types),
        )


def _replaced(srcs: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """The operands, and in the place of those that are numbers their arrays."""
    return [src if array is None else array for src, array in zip(srcs, arrays, strict=True)]
