"""Launches of maps of any number of arrays that write whole lines with non-temporal stores, and prefetch operands."""

from __future__ import annotations

from functools import cache
from typing import Final

from ep.common.native.words import load_word, stack_words, store_word
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.memory import copy_bytes
from ep.cpu.engine.map.strided import OPERAND, OPERAND_WORDS, OPERANDS, STRIDED_PLAN
from ep.cpu.lines.ahead import AHEAD, AHEAD_BLOCK, add_ahead
from ep.cpu.lines.streaming import finish_streams
from ep.cpu.shared.context import CONTEXT, CONTEXT_WORDS, ITSELF
from ep.cpu.shared.state import SETTINGS, STATE
from ep.cpu.threads.parallel import call_task

_AHEAD_WORDS: Final[int] = AHEAD.num_words


def _in_lines(context, begin, end):
    plan, places = load_word(context, CONTEXT.plan), load_word(context, CONTEXT.sources)
    own, in_lines = stack_words(_AHEAD_WORDS), load_word(context, CONTEXT.streaming) == ITSELF
    copy_bytes(own, context, 8 * CONTEXT_WORDS)
    store_word(own, AHEAD.in_lines, 1 if in_lines else 0)
    store_word(own, AHEAD.num_ahead, 0)
    settings = load_word(load_word(context, CONTEXT.state), STATE.settings)
    ahead = load_word(settings, SETTINGS.ahead)
    if in_lines and ahead > 0:
        elements = ahead // load_word(plan, STRIDED_PLAN.size)
        for k in range(load_word(plan, STRIDED_PLAN.num_results), load_word(plan, STRIDED_PLAN.num_operands)):
            size = load_word(plan + 8 * (OPERANDS + OPERAND_WORDS * k), OPERAND.read_once)
            if size > 0:
                add_ahead(own, load_word(places, k) + elements * size, AHEAD_BLOCK * size)
    call_task(load_word(plan, STRIDED_PLAN.program), own, begin, end)
    if in_lines:
        finish_streams()


@cache
def strided_lines() -> int:
    """Return the task (context, begin, end) that calls the program of the plan, a task whose context is an `AHEAD`."""
    return compile_task("strided.lines", _in_lines)
