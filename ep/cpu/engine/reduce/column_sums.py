"""Sums of columns beside what is computed by rows: parts of the rows have sums of their own, which are added in order.

The parts depend on shapes alone, so that the sums have the same bits for any number of threads.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ep.common.native.words import load_word, stack_words, store_word
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.memory import allocate, copy_bytes, release
from ep.cpu.engine.map.strided import STRIDED, STRIDED_PLAN
from ep.cpu.engine.reduce.stages import COLUMNS, PROGRAM, STAGE, STAGE_OPERAND
from ep.cpu.engine.reduce.state import REDUCE_STATE
from ep.cpu.shared.context import CONTEXT
from ep.cpu.shared.state import GRAIN_BYTES
from ep.cpu.threads.parallel import call_task, run

_MOST_PARTS: Final = 16
_LEAST_PART: Final = 2**17  # bytes
_NEGATIVE_ZERO: Final = -(2**63)  # the bits of the float64 that changes no number it is added to
_PROGRAM, _STAGE = PROGRAM.num_words, STAGE.num_words
_WORDS: Final[int] = STRIDED.num_words


def rows_of_parts(num_rows: int, row_bytes: int) -> int:
    """Return the number of rows of a part of all rows; row_bytes: those that are read and written for one."""
    return -(-num_rows // min(max(num_rows * row_bytes // _LEAST_PART, 1), _MOST_PARTS))


def _parts(context, begin, end):
    """Take the rows of some parts through the stages."""
    program = load_word(load_word(context, CONTEXT.plan), STRIDED_PLAN.program)
    rows, num_rows = load_word(program, PROGRAM.part_rows), load_word(program, PROGRAM.num_rows)
    own = stack_words(_WORDS)
    copy_bytes(own, context, 8 * _WORDS)
    for part in range(begin, end):
        num_bytes = load_word(program, PROGRAM.part_bytes)
        sums = load_word(context, STRIDED.columns) + part * num_bytes
        for word in range(num_bytes // 8):
            store_word(sums, word, _NEGATIVE_ZERO)  # those that a map adds to
        store_word(own, STRIDED.columns, sums)
        call_task(load_word(program, PROGRAM.rows_task), own, part * rows, min((part + 1) * rows, num_rows))
    if load_word(own, STRIDED.lacks_memory) != 0:
        store_word(context, STRIDED.lacks_memory, 1)


@cache
def parts_task() -> int:
    """Return the address of the task (context, begin, end) of parts."""
    return compile_task("columns.parts", _parts)


def _columns(context, begin, end):
    plan, arrays = load_word(context, CONTEXT.plan), load_word(context, CONTEXT.sources)
    program, all_bytes = load_word(plan, STRIDED_PLAN.program), load_word(plan, STRIDED_PLAN.num_bytes)
    rows, num_rows = load_word(program, PROGRAM.part_rows), load_word(program, PROGRAM.num_rows)
    num_parts, size = (num_rows + rows - 1) // rows, load_word(program, PROGRAM.part_bytes)
    sums, wrong = allocate(num_parts * size), stack_words(1)
    if sums == 0:
        store_word(context, STRIDED.lacks_memory, 1)
        return
    store_word(context, STRIDED.columns, sums)
    grain = max(GRAIN_BYTES * num_parts // all_bytes, 1)
    run(load_word(context, CONTEXT.state), load_word(program, PROGRAM.part_task), context, num_parts, grain)
    for number in range(load_word(program, PROGRAM.num_stages)):
        stage = program + 8 * (_PROGRAM + _STAGE * number)
        if load_word(stage, STAGE.kind) == COLUMNS:
            state, count = load_word(stage, STAGE.state), load_word(stage, STAGE.count)
            total = sums + load_word(stage, STAGE.kept)
            for part in range(1, num_parts):
                more = total + part * size
                call_task(load_word(state, REDUCE_STATE.merge), total, total, more, more, count)
            dst = load_word(arrays, load_word(load_word(stage, STAGE.operands), STAGE_OPERAND.array))
            call_task(load_word(state, REDUCE_STATE.finish), dst, 0, total, total, count, num_rows, 0, wrong)
    release(sums)


@cache
def columns_task() -> int:
    """Return the address of the task (context, 0, 1) that takes all rows through the stages, and adds up columns."""
    return compile_task("columns.stages", _columns)
