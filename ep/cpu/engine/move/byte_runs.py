"""Memcpy and Memset: runs of bytes, copied or set."""

from __future__ import annotations

from functools import cache

from ep.common.native.fields import Int64
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import set_bytes
from ep.cpu.lines.inline_copy import copy_bytes
from ep.cpu.lines.streaming import finish_streams, run_writing, stream_row, streaming_filler
from ep.cpu.shared.context import ITSELF, Context
from ep.cpu.shared.state import State

_stream_byte = streaming_filler(1)


def _copy(context: Context, begin: int, end: int) -> None:
    dst, src = context.dst + begin, context.sources[0].data + begin
    if context.streaming == ITSELF:
        stream_row(dst, src, end - begin)
        finish_streams()
    else:
        copy_bytes(dst, src, end - begin)


def _set(context: Context, begin: int, end: int) -> None:
    dst, value = context.dst + begin, context.sources[0].data
    if context.streaming == ITSELF:
        place = Int64.array_on_stack(1)
        place[0] = value
        _stream_byte(dst, end - begin, place)
        finish_streams()
    else:
        set_bytes(dst, end - begin, value)


@cache
def copy_task() -> int:
    """Return the address of the task (context, begin, end) that copies bytes."""
    return compile_task("move.copy_bytes", _copy)


@cache
def set_task() -> int:
    """Return the address of the task (context, begin, end) that sets bytes to the context's first source word."""
    return compile_task("move.set_bytes", _set)


@jit
def _run(context: Context, num_bytes: int) -> int:
    state = State.at(context.state)
    count, grain = context.dst_count, state.grain
    context.streaming = ITSELF
    return run_writing(context, state.task, count, 1, num_bytes, grain)


@jit
def launch_copy(context: Context, num_bytes: int, in_place: bool, sizes: int) -> int:
    """Launch Memcpy, after its compiled check."""
    return 0 if in_place else _run(context, num_bytes)


@jit
def launch_set(context: Context, num_bytes: int, in_place: bool, sizes: Int64) -> int:
    """Launch Memset, after its compiled check; sizes: the number of bytes, and the value."""
    value = sizes[1]
    if not 0 <= value <= 255:
        return 1
    context.sources[0].data = value
    return _run(context, num_bytes)
