"""What Launch calls of the primitives that reduce rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ep.common.primitive.signature import Signature
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import load_word, stack_words, store_words
from ep.cpu.engine.context import CONTEXT
from ep.cpu.engine.entry import entry
from ep.cpu.engine.reduce.state import MAX_SEGMENTS, REDUCE_WORDS, segment_length
from ep.cpu.engine.state import STATE, LaunchState
from ep.cpu.threads.parallel import call_task, run

_ENOUGH_ROWS: Final = 64  # for all threads to have some

_segment_length = jit(segment_length)


@jit
def _launch(context, num_bytes, in_place, sizes):
    rows, cols = sizes
    state = load_word(context, CONTEXT.state)
    task, grain = load_word(state, STATE.task), load_word(state, STATE.grain)
    src, dst = load_word(context, CONTEXT.sources), load_word(context, CONTEXT.dst)
    length, own, partials = _segment_length(cols), stack_words(REDUCE_WORDS), stack_words(MAX_SEGMENTS)
    segments = (cols + length - 1) // length
    if rows >= _ENOUGH_ROWS or segments == 1:
        store_words(own, src, dst, cols, 0, 0)
        run(state, task, own, rows, max(grain // cols, 1))
        return 0
    for row in range(rows):
        store_words(own, src, dst, cols, partials, row)
        run(state, task, own, segments, max(grain // length, 1))
        call_task(task, own, 0, 0)
    return 0


def reduce_entry(name: str, signature: Signature, state: LaunchState, kernel: int) -> Callable[..., int]:
    """The entry (state, rows, cols, src, dst): src is [rows, cols], and dst has a value for each row.

    kernel: a `reduce_kernel`.
    """
    state.set(task=kernel)
    return entry(name, signature, STATE, _launch)
