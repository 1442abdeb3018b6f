"""Reductions of windows of planes, which the reduce engine reads in place."""

from __future__ import annotations

from typing import Any, Final

from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.data_type import DataType
from ep.include.primitive.plane_windows import PlaneWindows
from ep.include.primitive.reduce import Reduce, WindowReduction
from ep.include.primitive.reduce_op import EXTREMES, ReduceOp
from ep.include.stream import Stream

MOST_STRIDE: Final = 4
"""The longest stride along rows of windows that are read in place: as many vectors are read for one of results."""


class WindowReductions(PlannedPrimitive, Reduce):
    """The base class of Reduce, which has the reductions of windows."""

    op: ReduceOp
    data_type: DataType

    def over_windows(self, windows: PlaneWindows) -> WindowReduction | None:
        if self.op not in EXTREMES or windows.strides[-1] > MOST_STRIDE:
            return None
        counts = windows.num_elements()
        plan: Any = None

        def launch(stream: Stream, src: Any, dst: Any) -> None:
            nonlocal plan
            if plan is None or not self._entered(stream, plan.words, src, dst):
                buffers = self._checked(stream, (src, dst), counts, in_place=False)
                if plan is None:
                    self._compiling(make)
                self._run(stream, plan, *buffers)

        def make() -> None:
            nonlocal plan
            from ep.cpu.engine.reduce.windows import WindowsPlan

            plan = WindowsPlan(self.signature, windows, self.op, self.data_type)

        return launch
