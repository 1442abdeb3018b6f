"""What the CPU's primitives have in common that broadcast several operands, each with dims of its own."""

from __future__ import annotations

import math
from typing import Any

from ep.common.checks import as_dims
from ep.common.numbers import Numbers
from ep.common.primitive.broadcast import broadcast_dims
from ep.common.scalar import is_scalar
from ep.cpu.engine.map.plan import broadcast_plan
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.primitive.primitive import Request


class BroadcastPrimitive(PlannedPrimitive):
    """A primitive of the map engine over a broadcast walk; an operand with dims () may be a plain number."""

    state_layout = MAP_STATE
    _numbers: tuple[Numbers, ...]  # of each operand that is read

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._dims_names = tuple(f"{operand.name}_dims" for operand in self.signature.operands[:-1])

    def _launch_dims(self, stream: Any, dims: Any, buffers: Any, data_type: Any = None) -> None:
        names, most = self._dims_names, self.request.max_num_dims or 0
        each = tuple([as_dims(given, name, most) for given, name in zip(dims, names, strict=True)])
        result = broadcast_dims(*each, names=names)
        self._launch_planned(
            stream,
            each,
            tuple(map(math.prod, (*each, result))),
            self._with_arrays(each, buffers) if () in each else buffers,
            lambda: broadcast_plan(self.signature, each, self._types),
        )

    def _with_arrays(self, dims: tuple[Any, ...], buffers: tuple[Any, ...]) -> tuple[Any, ...]:
        if () not in dims:
            return buffers
        found = list(buffers)
        for place, (each, numbers) in enumerate(zip(dims, self._numbers, strict=True)):
            if each == () and is_scalar(found[place]):
                found[place] = numbers.array(found[place], self.signature.operands[place].name)
        return tuple(found)
