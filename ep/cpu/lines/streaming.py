"""Non-temporal stores: whole cache lines that go to memory without being fetched first.

An ordinary store first fetches the line that it writes to. If the whole line will be written, and the caches cannot
hold the results of a launch anyway, the fetch is useless, and it is a third to a half of the memory traffic.
(`probe.py` measures the size from which non-temporal stores are faster.)

There are two ways. Data that is mostly moved is written *in lines*, by kernels with non-temporal stores; each has an
ordinary twin for the partial lines at the ends. All other data is written *by tiles*: an ordinary task writes results
to a tile in L1, from which whole lines are copied to dst. This stores every byte twice, and on some processors (Zen 4)
a store to a tile cannot overtake non-temporal stores that are still on their way to memory.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.loops import unrolled
from ep.common.native.emitted import emitted
from ep.common.native.fields import address, pointer, word
from ep.common.native.record import Record
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import inlined, jit
from ep.cpu.compile.memory import copy_bytes
from ep.cpu.compile.vector import load, shuffle, store_nontemporal, vector
from ep.cpu.compile.vectors import L1_CACHE, NOTHING, call
from ep.cpu.lines.fetch import fetch_first, fetch_part, line_into_second, part_into_second
from ep.cpu.lines.inline_copy import copy_short_row, row_filler
from ep.cpu.lines.sizes import LEAST_STREAMED_ROW, LINE
from ep.cpu.shared.context import ITSELF, LATER, NONE, Context
from ep.cpu.shared.state import State
from ep.cpu.threads.parallel import call_task, run
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.data_type import DataType


class StreamContext(Record):
    """The context of the streaming task, the one that uses non-temporal stores; `run_writing` writes it."""

    task = address()  # the task that writes
    context = pointer(Context)
    count = word()  # elements that the task writes
    size = word()  # bytes of an element


LINE_BYTES: Final = LINE
_LINE: Final = LINE
_Bytes: Final = vector(DataType.kUInt8, _LINE)
_UNROLLED: Final = 4 * _LINE
_BURST: Final = 2048  # bytes that are prefetched, then written
_TILE: Final = 2048  # bytes that are written to L1, then streamed


@inlined
def stream_lines(dst: int, src: int, size: int) -> None:
    """Copy `size` bytes, a multiple of a line, to whole lines with non-temporal stores."""
    offset, most = 0, size & -_UNROLLED
    while offset < most:
        for skip in unrolled(range(0, _UNROLLED, _LINE)):
            store_nontemporal(dst + offset + skip, 0, load(_Bytes, src + offset + skip))
        offset += _UNROLLED
    while offset < size:
        store_nontemporal(dst + offset, 0, load(_Bytes, src + offset))
        offset += _LINE


@cache
def line_filler(unit: int) -> Any:
    """Return a function fill(dst, size, src) that writes copies of the `unit` bytes at `src` to whole lines of dst."""
    Bytes, repeated = vector(DataType.kUInt8, unit), shuffle(*(place % unit for place in range(_LINE)))

    @inlined
    def fill_lines(dst: int, size: int, src: int) -> None:
        line, offset = repeated(load(Bytes, src)), 0
        while offset < size:
            store_nontemporal(dst + offset, 0, line)
            offset += _LINE

    return fill_lines


@emitted()
def finish_streams(builder: Any) -> None:
    """Make this thread's non-temporal stores visible to others before its later stores.

    x86 orders ordinary stores, but not non-temporal ones. On other processors, the atomic operation that signals the
    end of the work orders all stores.
    """
    if builder.module.triple.startswith(("x86", "i686")):
        call(builder, "llvm.x86.sse.sfence", NOTHING)


@emitted()
def _fetch_burst(builder: Any, begin: Any) -> None:
    fetch_part(builder, begin, _BURST, L1_CACHE)


@jit
def stream_row(dst: int, src: int, size: int) -> None:
    """Copy `size` bytes, with non-temporal stores except for partial lines at the ends.

    Call `finish_streams` after the last.
    """
    if (dst | size) & (_LINE - 1) == 0 and size <= _BURST:
        stream_lines(dst, src, size)
        return
    head = min(-dst & (_LINE - 1), size)
    last = head + ((size - head) & -_LINE)
    copy_short_row(dst, src, head)
    for begin in range(head, last, _BURST):
        # read a while, then write a while: switching the direction of memory for every line takes longer
        following = src + begin + _BURST
        if begin + 2 * _BURST < size:
            _fetch_burst(following)
        else:
            fetch_first(following, size - begin - _BURST)
        stream_lines(dst + begin, src + begin, min(last - begin, _BURST))
    copy_short_row(dst + last, src + last, size - last)


@cache
def streaming_filler(unit: int) -> Any:
    """Return a function fill(dst, size, src): `stream_row` of copies of one unit of `unit` bytes."""
    fill_lines, fill_bytes = line_filler(unit), row_filler(unit)

    @jit
    def fill(dst: int, size: int, src: int) -> None:
        head = min(-dst & (_LINE - 1), size)
        if dst & (unit - 1) != 0:  # every line would begin inside a unit
            head = size
        lines = (size - head) & -_LINE
        fill_bytes(dst, head, src)
        fill_lines(dst + head, lines, src)
        fill_bytes(dst + head + lines, size - head - lines, src)

    return fill


@jit
def has_streaming_rows(dst: int, row_bytes: int) -> bool:
    """Return whether rows of `row_bytes` bytes can be written in lines: few lines are cut by the ends of rows."""
    return row_bytes >= LEAST_STREAMED_ROW or (dst | row_bytes) & (_LINE - 1) == 0


@jit
def _in_lines(task: int, context: Context, begin: int, end: int, size: int) -> None:
    """Call `Context.streaming` for the whole lines, and `task` for the elements before and after them."""
    dst, streaming = context.dst, context.streaming
    first = min(begin + (-(dst + begin * size) & (_LINE - 1)) // size, end)
    last = max(end - ((dst + end * size) & (_LINE - 1)) // size, first)
    if first < last:
        call_task(streaming, context, first, last)
    context.streaming = NONE
    if begin < first:
        call_task(task, context, begin, first)
    if last < end:
        call_task(task, context, last, end)


@jit
def _by_tiles(task: int, context: Context, begin: int, end: int, size: int, count: int) -> None:
    memory = thread_memory()
    tile = take(memory, _TILE)
    context.streaming = NONE
    dst, per_tile, ahead = context.dst, _TILE // size, State.at(context.state).settings.ahead // size
    # tiles end at ends of lines, if elements do
    stop = begin + per_tile - ((dst + begin * size) & (_TILE - 1)) // size
    while begin < end:
        stop = min(stop, end)
        for number in range(context.num_sources):
            source = context.sources[number]
            if ahead > 0 and source.count == count:  # it is read in the order of dst
                first = source.data + ahead * source.size
                part_into_second(first + begin * source.size, (stop - begin) * source.size)
                if stop == end:
                    line_into_second(first + end * source.size - 1)
        context.dst = tile - begin * size  # the task adds the offset of each element
        call_task(task, context, begin, stop)
        stream_row(dst + begin * size, tile, (stop - begin) * size)
        begin = stop
        stop += per_tile
    give_back(memory, tile)


def _stream(context: StreamContext, begin: int, end: int) -> None:
    task, size, written = context.task, context.size, Context.on_stack()
    copy_bytes(written, context.context, 8 * Context.num_words)
    if written.streaming != NONE and written.dst & (size - 1) == 0:
        _in_lines(task, written, begin, end, size)
    else:
        _by_tiles(task, written, begin, end, size, context.count)
    finish_streams()


@cache
def stream() -> int:
    """Return the task (context, begin, end) that runs another task with non-temporal stores."""
    return compile_task("stream", _stream)


@jit
def kind_of_work(num_bytes: int, written: int) -> int:
    """Return the calibration's kind, 0, 1 or 2, of a launch that reads and writes `num_bytes` in all."""
    return min((2 * num_bytes - written) // (2 * written), 2)


@jit
def run_writing(context: Context, task: int, count: int, size: int, num_bytes: int, grain: int) -> int:
    """Run a task that writes `count` elements of `size` bytes to dst, with non-temporal stores if that is faster.

    context: that of the launch; the task uses no other data. Its word `streaming` is NONE unless
        the caller writes another: a task like `task` that writes whole lines with non-temporal stores, or ITSELF.
    size: 1 to 16, a power of two; 0 if the task reads dst, or if dst has gaps, which a tile cannot have.
    num_bytes: the bytes that the launch reads and writes.
    Returns 1, without running the task, if streaming needs a task that has not been compiled yet; else 0.
    """
    state = State.at(context.state)
    settings, streaming, streamed = state.settings, context.streaming, StreamContext.on_stack()
    most = settings.tiles_from if streaming == NONE else settings.lines_from
    if size != 0 and num_bytes > most[kind_of_work(num_bytes, count * size)]:
        stream_task = settings.stream
        if stream_task == 0 or streaming == LATER:
            return 1
        if streaming != ITSELF:
            streamed.task = task
            streamed.context = context
            streamed.count = count
            streamed.size = size
            task, context = stream_task, Context.at(streamed)  # the streaming task reads a `StreamContext`
    else:
        context.streaming = NONE
    run(state, task, context, count, grain)
    return 0
