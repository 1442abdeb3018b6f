"""Launches of maps of any number of arrays that write whole lines with non-temporal stores, and prefetch operands."""

from __future__ import annotations

from functools import cache

from ep.common.native.fields import Int64
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.memory import copy_bytes
from ep.cpu.engine.map.strided import StridedLoops, operands_of
from ep.cpu.lines.ahead import AHEAD_BLOCK, AheadContext, add_ahead
from ep.cpu.lines.streaming import finish_streams
from ep.cpu.shared.context import ITSELF, Context
from ep.cpu.shared.state import State
from ep.cpu.threads.parallel import call_task


def _in_lines(context: Context, begin: int, end: int) -> None:
    plan, places = StridedLoops.at(context.plan), Int64.at(context.sources[0].data)
    operands, own, in_lines = operands_of(plan), AheadContext.on_stack(), context.streaming == ITSELF
    copy_bytes(own, context, 8 * Context.num_words)
    own.in_lines = 1 if in_lines else 0
    own.num_ahead = 0
    settings = State.at(context.state).settings
    ahead = settings.ahead
    if in_lines and ahead > 0:
        elements = ahead // plan.size
        for k in range(plan.num_results, plan.num_operands):
            size = operands[k].read_once
            if size > 0:
                add_ahead(own, places[k] + elements * size, AHEAD_BLOCK * size)
    call_task(plan.program, own, begin, end)
    if in_lines:
        finish_streams()


@cache
def strided_lines() -> int:
    """Return the task (context, begin, end) that calls the program of the plan with an `AheadContext`."""
    return compile_task("strided.lines", _in_lines)
