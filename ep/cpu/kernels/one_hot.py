"""OneHot, by the type of its indices and the size of its elements: each block of out is filled, then marked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from ep.common.native.fields import Int64
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import unit_functions
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.map.class_plan import ClassLoops
from ep.cpu.engine.map.state import MapState
from ep.cpu.engine.move.gather_rows import row_finder
from ep.cpu.lines.inline_copy import row_filler
from ep.cpu.lines.streaming import LINE_BYTES, has_streaming_rows, line_filler, run_writing, stream_row
from ep.cpu.shared.context import LATER, Context
from ep.cpu.shared.state import GRAIN_BYTES, LaunchState
from ep.include.data_type import DataType

_BLOCK_BYTES: Final = 4096  # of out, which stay in L1 until they are marked
_ROW_COST: Final = 40  # the cost of a mark, in bytes that could be written in that time
_LINE_WORDS: Final = LINE_BYTES // 8

_INDICES, _ON, _OFF = range(3)  # the sources


def one_hot_launcher(state: LaunchState, indices_type: DataType, out_type: DataType) -> Launcher:
    """Return the launcher of OneHot."""
    state.set(task=one_hot_kernel(indices_type, out_type.itemsize), streaming_kernel=LATER)
    return launcher("one_hot", _launch, ClassLoops)


@jit
def _launch(context: Context, num_bytes: int, in_place: bool, sizes: int) -> int:
    state, depth, size = MapState.at(context.state), ClassLoops.at(context.plan).depth, context.dst_size
    if has_streaming_rows(context.dst, depth * size):
        context.streaming = state.streaming_kernel
    grain = max(GRAIN_BYTES * depth // (depth * size + _ROW_COST), 1)
    return run_writing(context, state.task, context.dst_count, size, num_bytes, grain)


@cache
def one_hot_kernel(indices_type: DataType, size: int, streaming: bool = False) -> int:
    """Return the address of the task (context, begin, end) that writes elements of out.

    streaming: use non-temporal stores; the task is then called on whole cache lines of out only.
    """
    task = (_lines if streaming else _blocks)(_finder(indices_type), size)
    return compile_task(f"one_hot.{indices_type.name}.{size}" + ".lines" * streaming, task)


def _finder(indices_type: DataType) -> Any:
    """Return a function find(context, row): the place of the row's mark, and whether it has one."""
    find_row, unsigned = row_finder(indices_type), indices_type.dtype.kind == "u"

    @jit
    def find(context: Context, row: int) -> tuple[int, int]:
        classes = ClassLoops.at(context.plan)
        depth, lower_bound = classes.depth, classes.lower_bound
        low = max(lower_bound, 0) if unsigned else lower_bound  # an unsigned index is never below 0
        first = low - lower_bound
        column, valid = find_row(context.sources[_INDICES].data, row, low, max(depth - first, 0), first)
        return row * depth + column, valid

    return find


def _blocks(find: Any, size: int) -> Callable[..., None]:
    """Return the task that fills blocks, then marks them in L1."""
    fill_bytes, copy_unit, block = row_filler(size), unit_functions(size)[0], _BLOCK_BYTES // size

    def one_hot(context: Context, begin: int, end: int) -> None:
        depth = ClassLoops.at(context.plan).depth
        out, on, off = context.dst, context.sources[_ON].data, context.sources[_OFF].data
        while begin < end:
            stop = min(begin + block, end)
            fill_bytes(out + begin * size, (stop - begin) * size, off)
            for row in range(begin // depth, (stop - 1) // depth + 1):
                place, valid = find(context, row)
                if valid and begin <= place < stop:
                    copy_unit(out, place, on, 0)
            begin = stop

    return one_hot


def _lines(find: Any, size: int) -> Callable[..., None]:
    """Return the task that writes whole lines with non-temporal stores; lines with a mark are assembled first."""
    fill_lines, fill_bytes, copy_unit = line_filler(size), row_filler(size), unit_functions(size)[0]
    per_line = LINE_BYTES // size

    def one_hot(context: Context, begin: int, end: int) -> None:
        depth = ClassLoops.at(context.plan).depth
        out, on, off = context.dst, context.sources[_ON].data, context.sources[_OFF].data
        line = Int64.array_on_stack(_LINE_WORDS)
        done = begin
        for row in range(begin // depth, (end - 1) // depth + 1):
            place, valid = find(context, row)
            if not valid or place < begin or place >= end:
                continue
            if place < done:  # a second mark in one line
                copy_unit(out, place, on, 0)
                continue
            marked = place - (place - begin) % per_line
            fill_lines(out + done * size, (marked - done) * size, off)
            fill_bytes(line, LINE_BYTES, off)
            copy_unit(line, place - marked, on, 0)
            stream_row(out + marked * size, line, LINE_BYTES)
            done = marked + per_line
        fill_lines(out + done * size, (end - done) * size, off)

    return one_hot
