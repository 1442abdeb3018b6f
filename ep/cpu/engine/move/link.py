"""Compiles what plans of the move engine name, and writes the addresses to them. Imports no Numba before it must."""

from __future__ import annotations

from typing import Final

from ep.common.compiling import compiling
from ep.cpu.engine.move.plan import MovePlan
from ep.cpu.engine.move.row_writer import RowWriter

_compiled: Final[dict[RowWriter, tuple[int, int]]] = {}
"""What there is so far: the addresses of the writer and of the task that walks."""


def link(plan: MovePlan) -> None:
    """Write the addresses of what the plan names, which is compiled, or loaded, where that has not been done."""
    wanted = plan.writer

    def compile_wanted() -> None:
        from ep.cpu.engine.move import row_writers, walk

        _compiled[wanted] = row_writers.writer(wanted), walk.task()

    if wanted not in _compiled:
        compiling(wanted, "cpu", compile_wanted)
    writer, walk = _compiled[wanted]
    plan.set(writer=writer, walk=walk)
