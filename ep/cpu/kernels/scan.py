"""Scan: the sums or products of all elements up to each one, of rows, or of many adjacent columns at a time.

A few long lines are cut into parts, which follow from the sizes alone. First each part is added up, then it is scanned
from the sum of those before it. Products are not cut: a part may overflow where the elements before it are 0.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ep.common.native.words import load_word, stack_words, store_word, store_words
from ep.common.stored_types import scanned_as
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import allocate, loader, release, storer
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.shared.context import CONTEXT, NO_MEMORY
from ep.cpu.shared.layout import layout
from ep.cpu.shared.state import GRAIN_BYTES, STATE, LaunchState
from ep.cpu.threads.parallel import run
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.data_type import DataType
from ep.include.primitive.scan_op import SCANS_OF_SUMS, SCANS_TO_END, ScanOp

_COLUMNS: Final = 512  # adjacent ones that are scanned together
_ROWS: Final = 8  # fewer columns are scanned one after the other
_GROUP: Final = 4  # elements of a row whose sums do not wait for those before them
_CARRIED_BYTES: Final = 16  # of the largest type in which numbers are carried
_ENOUGH: Final = 16  # lines that are worth no parts: each thread has some
_MOST_PARTS: Final = 64
_PART_BYTES: Final = 2**18  # the least bytes, read and written, of a part
_COST: Final = 3  # how much longer it takes than to move the elements

_WORK: Final = layout(
    "ScanWork",
    src=1,
    dst=1,
    size=1,  # elements of a line
    inner=1,
    columns=1,  # that are scanned together
    blocks=1,  # of columns
    part=1,  # elements of a part
    parts=1,
    sums=1,  # the address of the sums of parts; 0 if there is one part
    adds_up=1,  # whether the sums are written, and nothing else
    to_end=1,  # whether it begins with the last element
)
_WORDS: Final[int] = _WORK.num_words


def scan_launcher(state: LaunchState, op: ScanOp, data_type: DataType) -> Launcher:
    """Return the launcher of Scan."""
    is_sum, to_end = op in SCANS_OF_SUMS, op in SCANS_TO_END
    state.set(task=_task(*scanned_as(data_type), is_sum))
    return launcher(f"scan.{is_sum:d}.{to_end:d}", _launch(is_sum, to_end))


@cache
def _launch(in_parts: bool, to_end: bool) -> Any:
    """Return the function that launches the task. in_parts: whether lines may be cut. to_end: as in `ScanWork`."""
    from_last = 1 if to_end else 0

    @jit
    def launch(context, num_bytes, in_place, sizes):
        size, inner = load_word(sizes, 1), load_word(sizes, 2)
        columns = min(inner, _COLUMNS)
        blocks = (inner + columns - 1) // columns
        units = load_word(sizes, 0) * blocks
        part = size
        if in_parts and units < _ENOUGH:
            parts = max(min(_MOST_PARTS // units, num_bytes // units // _PART_BYTES), 1)
            part = (size + parts - 1) // parts
        parts = (size + part - 1) // part
        state, own, sums = load_word(context, CONTEXT.state), stack_words(_WORDS), 0
        if parts > 1:
            sums = allocate(load_word(sizes, 0) * parts * inner * _CARRIED_BYTES)
            if sums == 0:
                return NO_MEMORY
        src, dst = load_word(context, CONTEXT.sources), load_word(context, CONTEXT.dst)
        store_words(own, src, dst, size, inner, columns, blocks, part, parts, sums, 1, from_last)
        task, grain = load_word(state, STATE.task), max(GRAIN_BYTES * units * parts // (_COST * num_bytes), 1)
        if parts > 1:
            run(state, task, own, units * parts, grain)
        store_word(own, _WORK.adds_up, 0)
        run(state, task, own, units * parts, grain)
        if parts > 1:
            release(sums)
        return 0

    return launch


@cache
def _task(data_type: DataType, carried: DataType, is_sum: bool) -> int:
    """Return the address of the task (work, begin, end) over blocks of columns of parts of lines.

    carried: the type in which numbers are carried.
    """
    scan_row, add_row = _row(data_type, carried, is_sum), _row_sum(data_type, carried)
    begin_columns, scan_columns, add_columns = _columns(data_type, carried, is_sum)
    T, load, store = carried.dtype.type, loader(carried), storer(carried)
    load_element = loader(data_type)
    size_of_carried, all_carried, most_parts = carried.itemsize, _COLUMNS * _CARRIED_BYTES, 2 if is_sum else 1

    @separate
    def add_part(work, at, step, count, width, sums):
        """Write the sums of a part."""
        src = load_word(work, _WORK.src)
        if width < _ROWS:
            for j in range(width):
                store(sums, j, add_row(src, at + j + step, step, count - 1, T(load_element(src, at + j))))
            return
        begin_columns(src, 0, at, sums, width)
        for k in range(1, count):
            add_columns(src, at + k * step, sums, width)

    @separate
    def scan_part(work, at, step, count, width, number, sums, memory):
        """Scan a part from the sum of those before it. sums: those of the parts of this line."""
        src, dst, inner = load_word(work, _WORK.src), load_word(work, _WORK.dst), load_word(work, _WORK.inner)
        first = 1 if number == 0 else 0
        if number == 0:
            begin_columns(src, dst, at, memory, width)
        for j in range(width if number > 0 else 0):
            carry = load(sums, j)
            for other in range(1, number):
                carry = T(carry + load(sums, other * inner + j))
            store(memory, j, carry)
        if width < _ROWS:
            for j in range(width):
                scan_row(src, dst, at + j + first * step, step, count - first, load(memory, j))
            return
        for k in range(first, count):
            scan_columns(src, dst, at + k * step, memory, width)

    def scan(work, begin, end):
        size, inner = load_word(work, _WORK.size), load_word(work, _WORK.inner)
        columns, blocks = load_word(work, _WORK.columns), load_word(work, _WORK.blocks)
        part, parts = load_word(work, _WORK.part), load_word(work, _WORK.parts)
        to_end = load_word(work, _WORK.to_end) != 0
        block = thread_memory()
        memory = take(block, all_carried)
        for unit in range(begin, end):
            column, line, number = unit % blocks * columns, unit // blocks // parts, unit // blocks % parts
            width, first = min(columns, inner - column), number * part
            count, step = min(part, size - first), -inner if to_end else inner
            at = (line * size + (size - 1 - first if to_end else first)) * inner + column
            sums = load_word(work, _WORK.sums) + (line * parts * inner + column) * size_of_carried
            if most_parts == 1 or load_word(work, _WORK.adds_up) == 0:
                scan_part(work, at, step, count, width, number, sums, memory)
            elif number < parts - 1:  # nothing begins with the sum of the last one
                add_part(work, at, step, count, width, sums + number * inner * size_of_carried)
        give_back(block, memory)

    return compile_task(f"scan.{'sum' if is_sum else 'prod'}.{data_type.name}", scan)


def _row(data_type: DataType, carried: DataType, is_sum: bool) -> Any:
    """Return a function (src, dst, at, step, count, carry) that scans elements of a row from a number on."""
    T, load, store = carried.dtype.type, loader(data_type), storer(data_type)

    @separate
    def products(src, dst, at, step, count, carry):
        for k in range(count):
            carry = T(carry * T(load(src, at + k * step)))
            store(dst, at + k * step, carry)

    @separate
    def sums(src, dst, at, step, count, carry):
        whole = count - count % _GROUP
        for k in range(0, whole, _GROUP):
            i = at + k * step
            a = T(load(src, i))
            b = T(a + T(load(src, i + step)))
            c = T(b + T(load(src, i + 2 * step)))
            d = T(c + T(load(src, i + 3 * step)))
            store(dst, i, T(carry + a))
            store(dst, i + step, T(carry + b))
            store(dst, i + 2 * step, T(carry + c))
            carry = T(carry + d)
            store(dst, i + 3 * step, carry)
        for k in range(whole, count):
            carry = T(carry + T(load(src, at + k * step)))
            store(dst, at + k * step, carry)

    return sums if is_sum else products


def _row_sum(data_type: DataType, carried: DataType) -> Any:
    """Return a function (src, at, step, count, carry) -> the carry plus the sum of elements of a row."""
    T, load = carried.dtype.type, loader(data_type)

    @separate
    def total(src, at, step, count, carry):
        whole = count - count % _GROUP
        for k in range(0, whole, _GROUP):
            i = at + k * step
            a, b = T(load(src, i)), T(load(src, i + step))
            c, d = T(load(src, i + 2 * step)), T(load(src, i + 3 * step))
            carry = T(carry + T(T(a + b) + T(c + d)))
        for k in range(whole, count):
            carry = T(carry + T(load(src, at + k * step)))
        return carry

    return total


def _columns(data_type: DataType, carried: DataType, is_sum: bool) -> tuple[Any, Any, Any]:
    """Return three functions of `width` adjacent columns and the numbers that are carried for them.

    begin(src, dst, at, numbers, width): begins with the elements at `at`, which are results, too, if there is a dst.
    scan(src, dst, at, numbers, width): adds or multiplies the next elements, and writes results.
    add(src, at, numbers, width): adds the next elements.
    """
    T, load, store = carried.dtype.type, loader(data_type), storer(data_type)
    load_number, store_number = loader(carried), storer(carried)

    @jit
    def combined(a, b):
        return T(a + b) if is_sum else T(a * b)

    @separate
    def begin(src, dst, at, numbers, width):
        for j in range(width):
            store_number(numbers, j, T(load(src, at + j)))
        if dst != 0:
            for j in range(width):
                store(dst, at + j, load(src, at + j))

    @separate
    def scan(src, dst, at, numbers, width):
        for j in range(width):
            number = combined(load_number(numbers, j), T(load(src, at + j)))
            store_number(numbers, j, number)
            store(dst, at + j, number)

    @separate
    def add(src, at, numbers, width):
        for j in range(width):
            store_number(numbers, j, combined(load_number(numbers, j), T(load(src, at + j))))

    return begin, scan, add
