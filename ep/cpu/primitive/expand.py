"""Expand on the CPU: the move engine, over a strided walk."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.expand_shape import ExpandShape
from ep.common.primitive.keys import EXPAND
from ep.common.primitive.movement import MAX_UNIT
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.loop_nest import LoopNest
from ep.cpu.engine.move.plan import move_plan
from ep.cpu.engine.move.run_writer import run_writers
from ep.cpu.primitive.strided import StridedPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.expand import Expand, ExpandFactory
from ep.include.primitive.implements import implements


class StridedCopy(StridedPrimitive):
    """A strided copy of elements, without conversion."""

    signature = signatures.EXPAND

    def _compile(self) -> Launcher:
        from ep.cpu.engine.move.entry import move_launcher

        return move_launcher(self._state)

    def _compile_variants(self) -> None:
        super()._compile_variants()
        self._compile_writers(run_writers(self._types[0].itemsize, MAX_UNIT))

    def _plan(self, shape: ExpandShape, counts: tuple[int, int]) -> LoopNest:
        return move_plan(self.signature, shape.walk(), self._types[0], counts)


@implements(ExpandFactory, on=DeviceType.kCPU, keys=EXPAND)
class ExpandImpl(StridedCopy, Expand):
    pass
