"""Runs of bytes, copied or set: Memcpy and Memset."""

from __future__ import annotations

from functools import cache

from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import load_word, set_bytes, store_word
from ep.cpu.engine.context import CONTEXT
from ep.cpu.engine.move.byte_rows import copy_row
from ep.cpu.engine.state import STATE
from ep.cpu.engine.streaming import run_writing


def _copy(context, begin, end):
    copy_row(load_word(context, CONTEXT.dst) + begin, load_word(context, CONTEXT.sources) + begin, end - begin)


def _set(context, begin, end):
    set_bytes(load_word(context, CONTEXT.dst) + begin, end - begin, load_word(context, CONTEXT.sources))


@cache
def copy_task() -> int:
    """The address of the task (context, begin, end) that copies bytes."""
    return compile_task("move.copy_bytes", _copy)


@cache
def set_task() -> int:
    """The address of the task (context, begin, end) that sets bytes to the first word of the context's sources."""
    return compile_task("move.set_bytes", _set)


@jit
def _run(context, num_bytes):
    state = load_word(context, CONTEXT.state)
    count, grain = load_word(context, CONTEXT.dst_count), load_word(state, STATE.grain)
    return run_writing(context, load_word(state, STATE.task), count, 1, num_bytes, grain)


@jit
def launch_copy(context, num_bytes, in_place, sizes):
    """What the entry of Memcpy calls."""
    return 0 if in_place else _run(context, num_bytes)


@jit
def launch_set(context, num_bytes, in_place, sizes):
    """What the entry of Memset calls; sizes: how many bytes, and the value."""
    value = sizes[1]
    if not 0 <= value <= 255:
        return 1
    store_word(context, CONTEXT.sources, value)
    return _run(context, num_bytes)
