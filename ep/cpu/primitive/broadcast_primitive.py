"""What the CPU's primitives have in common that broadcast several operands, each with dims of its own."""

from __future__ import annotations

import math
from typing import Any

from ep.common.checks import as_dims
from ep.common.numbers import Numbers
from ep.common.primitive.broadcast import broadcast_dims
from ep.common.scalar import is_scalar
from ep.cpu.device.stream import CpuStream
from ep.cpu.engine.map.plan import broadcast_plan
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.engine.plan import Plan
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.primitive.primitive import Request


class BroadcastPrimitive(PlannedPrimitive):
    """A primitive of the map engine over a broadcast walk; an operand with dims () may be a plain number."""

    state_layout = MAP_STATE
    _numbers: tuple[Numbers, ...]  # of each operand that is read

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._dims_names = tuple(f"{operand.name}_dims" for operand in self.signature.operands[:-1])

    def _launch_broadcast(
        self, stream: Any, plan: Plan | None, given: tuple[Any, ...], operands: tuple[Any, ...], dst: Any
    ) -> None:
        """Do a launch that the entry refused; plan: of the dims as they were given, None where there is none yet."""
        # as often as not, a number is all that is unusual
        if plan is not None and type(stream) is CpuStream and () in given:
            sources = self._with_arrays(given, operands)
            if self._entry(self._words, plan.words, given, *sources, dst) == 0:
                return
        names, most = self._dims_names, self.request.max_num_dims or 0
        each = tuple([as_dims(dims, name, most) for dims, name in zip(given, names, strict=True)])
        dims = broadcast_dims(*each, names=names)
        counts = tuple(map(math.prod, (*each, dims)))
        self._launch_planned(
            stream,
            each,
            counts,
            (*(self._with_arrays(each, operands) if () in each else operands), dst),
            lambda: broadcast_plan(self.signature, each, dims, self._types, counts),
        )

    def _with_arrays(self, each: tuple[Any, ...], operands: tuple[Any, ...]) -> list[Any]:
        """The operands, with arrays in the place of plain numbers."""
        return [
            numbers.array(operand, described.name) if dims == () and is_scalar(operand) else operand
            for dims, operand, described, numbers in zip(
                each, operands, self.signature.operands[:-1], self._numbers, strict=True
            )
        ]
