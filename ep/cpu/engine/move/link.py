"""The linking of the move engine's plans to compiled code. It imports compiled code when it needs it."""

from __future__ import annotations

from ep.common.compiling import compiling
from ep.cpu.engine.move.plan import LINKED, MovePlan, compiled


def link(plan: MovePlan) -> None:
    """Write the addresses of the plan's writer and walk into it; compile or load these first if necessary."""
    if plan.is_linked:
        return
    wanted = plan.writer

    def compile_wanted() -> None:
        from ep.cpu.engine.move import run_writers, walk

        compiled[wanted] = run_writers.writer(wanted), walk.task()

    if wanted not in compiled:
        compiling(wanted, "cpu", compile_wanted)
    plan.set_words(LINKED, compiled[wanted])
    plan.is_linked = True
