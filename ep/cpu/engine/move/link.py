"""Compiles what plans of the move engine name, and writes the addresses to them. Imports no Numba before it must."""

from __future__ import annotations

from typing import Final

from ep.common.compiling import compiling
from ep.cpu.engine.move.plan import MOVE_PLAN, MovePlan
from ep.cpu.engine.move.row_writer import RowWriter
from ep.cpu.engine.plan import adjacent

_LINKED: Final = adjacent(MOVE_PLAN, "writer", "walk")

_compiled: Final[dict[RowWriter, tuple[int, int]]] = {}
"""What there is so far: the addresses of the writer and of the task that walks."""


def link(plan: MovePlan) -> None:
    """Write the addresses of what the plan names, which is compiled, or loaded, where that has not been done."""
    wanted = plan.writer

    def compile_wanted() -> None:
        from ep.cpu.engine.move import row_writers, walk

        _compiled[wanted] = row_writers.writer(wanted), walk.task()

    if not link_compiled(plan):
        compiling(wanted, "cpu", compile_wanted)
        link_compiled(plan)


def link_compiled(plan: MovePlan) -> bool:
    """The same where all that the plan names has been compiled; whether it has."""
    found = _compiled.get(plan.writer)
    if found is None:
        return False
    plan.set_words(_LINKED, found)
    return True
