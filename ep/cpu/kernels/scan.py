"""Scan: the sums or products of all elements up to each one, of rows, or of many adjacent columns at a time.

A few long lines are cut into parts, which follow from the sizes alone: each part is scanned for itself, and the sum of
those before it is added. Several threads add up all parts first. Products are not cut: a part may overflow where the
elements before it are 0.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.functor.math_library import Scalar
from ep.common.native.fields import Int64, address, word
from ep.common.native.record import Record
from ep.common.stored_types import scanned_as
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import allocate, loader, release, storer
from ep.cpu.engine.entry import launcher
from ep.cpu.engine.form import Launcher
from ep.cpu.shared.context import NO_MEMORY, Context
from ep.cpu.shared.state import GRAIN_BYTES, LaunchState, State
from ep.cpu.threads.parallel import run
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.data_type import DataType
from ep.include.number_kind import UNSIGNED
from ep.include.primitive.scan_op import SCANS_OF_SUMS, SCANS_TO_END, ScanOp

_COLUMNS: Final = 512  # adjacent ones that are scanned together, at most
_FEW_COLUMNS: Final = 64  # the same where there are few lines
_ROWS: Final = 8  # fewer columns are scanned one after the other
_GROUP: Final = 4  # elements of a row whose sums do not wait for those before them
_CARRIED_BYTES: Final = 16  # of the largest type in which numbers are carried
_ENOUGH: Final = 16  # lines that are worth no parts: each thread has some
_MOST_PARTS: Final = 64
_PART_BYTES: Final = 2**18  # the least bytes, read and written, of a part
_FEW_THREADS: Final = 2  # which would not scan parts faster than one thread scans the whole line
_COST: Final = 3  # how much longer it takes than to move the elements


class _ScanContext(Record):
    """The context of the task, which the launcher writes."""

    src = address()
    dst = address()
    size = word()  # elements of a line
    inner = word()
    columns = word()  # that are scanned together
    blocks = word()  # of columns
    part = word()  # elements of a part
    parts = word()
    sums = address()  # of parts, or 0
    step = word()  # what a task does: see below
    to_end = word()  # whether it begins with the last element


_LINES, _SUMS, _PARTS = range(3)  # it scans whole lines, it adds up parts, or it scans parts


def scan_launcher(state: LaunchState, op: ScanOp, data_type: DataType) -> Launcher:
    """Return the launcher of Scan."""
    is_sum, to_end = op in SCANS_OF_SUMS, op in SCANS_TO_END
    state.set(task=_task(*scanned_as(data_type), is_sum))
    return launcher(f"scan.{is_sum:d}.{to_end:d}", _launch(is_sum, to_end))


@cache
def _launch(in_parts: bool, to_end: bool) -> Any:
    """Return the function that launches the task. in_parts: whether lines may be cut. to_end: as in `_ScanContext`."""
    from_last = 1 if to_end else 0

    @jit
    def launch(context: Context, num_bytes: int, in_place: bool, sizes: Int64) -> int:
        outer, size, inner = sizes[0], sizes[1], sizes[2]
        columns = min(inner, max(_FEW_COLUMNS, min(_COLUMNS, outer * inner // _ENOUGH & -_FEW_COLUMNS)))
        blocks = (inner + columns - 1) // columns
        units, part, sums = outer * blocks, size, 0
        if in_parts and units < _ENOUGH:
            parts = max(min(_MOST_PARTS // units, num_bytes // units // _PART_BYTES), 1)
            part = (size + parts - 1) // parts
        parts = (size + part - 1) // part
        state, scan = State.at(context.state), _ScanContext.on_stack()
        if parts > 1 and state.settings.num_threads > _FEW_THREADS:
            sums = allocate(outer * parts * inner * _CARRIED_BYTES)
            if sums == 0:
                return NO_MEMORY
        scan.src = context.sources[0].data
        scan.dst = context.dst
        scan.size = size
        scan.inner = inner
        scan.columns = columns
        scan.blocks = blocks
        scan.part = part
        scan.parts = parts
        scan.sums = sums
        scan.step = _LINES
        scan.to_end = from_last
        task, count = state.task, units * (parts if sums != 0 else 1)
        grain = max(GRAIN_BYTES * count // (_COST * num_bytes), 1)
        if sums != 0:
            scan.step = _SUMS
            run(state, task, scan, count, grain)
            scan.step = _PARTS
        run(state, task, scan, count, grain)
        if sums != 0:
            release(sums)
        return 0

    return launch


@cache
def _task(data_type: DataType, carried: DataType, is_sum: bool) -> int:
    """Return the address of the task (context, begin, end) over blocks of columns of lines, or of parts of lines.

    carried: the type in which numbers are carried.
    """
    scan_row, add_row = _row(data_type, carried, is_sum), _row_sum(data_type, carried)
    begin_columns, scan_columns, add_columns = _columns(data_type, carried, is_sum)
    T, load, store = carried.dtype.type, loader(carried), storer(carried)
    size_of_carried, all_carried = carried.itemsize, _COLUMNS * _CARRIED_BYTES
    neutral = _neutral(carried)

    @separate
    def add_part(context: _ScanContext, at: int, by: int, count: int, width: int, sums: int) -> None:
        """Write the sums of a part."""
        src = context.src
        if width < _ROWS:
            for j in range(width):
                store(sums, j, add_row(src, at + j, by, count))
            return
        begin_columns(src, 0, at, sums, sums, width)
        for k in range(1, count):
            add_columns(src, at + k * by, sums, width)

    @separate
    def scan_part(context: _ScanContext, at: int, by: int, count: int, width: int, numbers: int, bases: int) -> None:
        """Scan a part, whose sums are then in `numbers`. bases: the sums of the parts before."""
        src, dst = context.src, context.dst
        if width < _ROWS:
            for j in range(width):
                store(numbers, j, scan_row(src, dst, at + j, by, count, load(bases, j)))
            return
        begin_columns(src, dst, at, numbers, bases, width)
        for k in range(1, count):
            scan_columns(src, dst, at + k * by, numbers, bases, width)

    @separate
    def add_bases(bases: int, numbers: int, width: int) -> None:
        for j in range(width):
            store(bases, j, T(load(bases, j) + load(numbers, j)))

    def scan(context: _ScanContext, begin: int, end: int) -> None:
        size, inner, columns, blocks = context.size, context.inner, context.columns, context.blocks
        part, parts, step, to_end = context.part, context.parts, context.step, context.to_end != 0
        block, by, parts_of_unit = thread_memory(), -inner if to_end else inner, parts if step == _LINES else 1
        numbers = take(block, 2 * all_carried)
        bases = numbers + all_carried
        for unit in range(begin, end):
            column, line, number = unit % blocks * columns, unit // blocks, 0
            if step != _LINES:
                line, number = line // parts, line % parts
            width = min(columns, inner - column)
            sums = context.sums + (line * parts * inner + column) * size_of_carried
            for j in range(width):
                store(bases, j, neutral)
            for other in range(number if step == _PARTS else 0):
                add_bases(bases, sums + other * inner * size_of_carried, width)
            for each in range(number, number + parts_of_unit):
                first = each * part
                at = (line * size + (size - 1 - first if to_end else first)) * inner + column
                count = min(part, size - first)
                if step != _SUMS:
                    scan_part(context, at, by, count, width, numbers, bases)
                    add_bases(bases, numbers, width)
                elif each < parts - 1:  # nothing begins with the sum of the last one
                    add_part(context, at, by, count, width, sums + each * inner * size_of_carried)
        give_back(block, numbers)

    return compile_task(f"scan.{'sum' if is_sum else 'prod'}.{data_type.name}", scan)


def _neutral(carried: DataType) -> Any:
    """Return the number that changes none, not even -0, when it is added."""
    return {"f": np.float64(-0.0), "c": np.complex128(complex(-0.0, -0.0))}.get(carried.dtype.kind, np.uint64(0))


def _row(data_type: DataType, carried: DataType, is_sum: bool) -> Any:
    """Return a function (src, dst, at, by, count, base) that scans elements of a row, and returns the last number.

    base: is added to each result; that is a sum of other elements.
    """
    T, load, store = carried.dtype.type, loader(data_type), storer(data_type)

    @separate
    def products(src: int, dst: int, at: int, by: int, count: int, base: Scalar) -> Scalar:
        total = T(load(src, at))
        store(dst, at, total)
        for k in range(1, count):
            total = T(total * T(load(src, at + k * by)))
            store(dst, at + k * by, total)
        return total

    @separate
    def sums(src: int, dst: int, at: int, by: int, count: int, base: Scalar) -> Scalar:
        total = T(load(src, at))
        store(dst, at, T(base + total))
        whole = 1 + (count - 1) // _GROUP * _GROUP
        for k in range(1, whole, _GROUP):
            i = at + k * by
            a = T(load(src, i))
            b = T(a + T(load(src, i + by)))
            c = T(b + T(load(src, i + 2 * by)))
            d = T(c + T(load(src, i + 3 * by)))
            store(dst, i, T(base + T(total + a)))
            store(dst, i + by, T(base + T(total + b)))
            store(dst, i + 2 * by, T(base + T(total + c)))
            total = T(total + d)
            store(dst, i + 3 * by, T(base + total))
        for k in range(whole, count):
            total = T(total + T(load(src, at + k * by)))
            store(dst, at + k * by, T(base + total))
        return total

    @separate
    def sums_of_integers(src: int, dst: int, at: int, by: int, count: int, base: Scalar) -> Scalar:
        total = base
        for k in range(count):
            total = T(total + load(src, at + k * by))
            store(dst, at + k * by, total)
        return T(total - base)

    if not is_sum:
        return products
    return sums_of_integers if carried in UNSIGNED else sums


def _row_sum(data_type: DataType, carried: DataType) -> Any:
    """Return a function (src, at, by, count) that adds up elements of a row, as a scan does."""
    T, load = carried.dtype.type, loader(data_type)

    @separate
    def total_of(src: int, at: int, by: int, count: int) -> Scalar:
        total, whole = T(load(src, at)), 1 + (count - 1) // _GROUP * _GROUP
        for k in range(1, whole, _GROUP):
            i = at + k * by
            part = T(T(load(src, i)) + T(load(src, i + by)))
            part = T(part + T(load(src, i + 2 * by)))
            total = T(total + T(part + T(load(src, i + 3 * by))))
        for k in range(whole, count):
            total = T(total + T(load(src, at + k * by)))
        return total

    return total_of


def _columns(data_type: DataType, carried: DataType, is_sum: bool) -> tuple[Any, Any, Any]:
    """Return three functions of `width` adjacent columns and the numbers that are carried for them.

    begin(src, dst, at, numbers, bases, width): begins with the elements at `at`; it writes results if there is a dst.
    scan(src, dst, at, numbers, bases, width): adds or multiplies the next elements, and writes results.
    add(src, at, numbers, width): adds the next elements.
    """
    T, load, store = carried.dtype.type, loader(data_type), storer(data_type)
    load_number, store_number = loader(carried), storer(carried)

    @jit
    def combined(a: Scalar, b: Scalar) -> Scalar:
        return T(a + b) if is_sum else T(a * b)

    @jit
    def result(base: Scalar, number: Scalar) -> Scalar:
        return T(base + number) if is_sum else number

    @separate
    def begin(src: int, dst: int, at: int, numbers: int, bases: int, width: int) -> None:
        for j in range(width if dst != 0 else 0):
            number = T(load(src, at + j))
            store_number(numbers, j, number)
            store(dst, at + j, result(load_number(bases, j), number))
        for j in range(width if dst == 0 else 0):
            store_number(numbers, j, T(load(src, at + j)))

    @separate
    def scan(src: int, dst: int, at: int, numbers: int, bases: int, width: int) -> None:
        for j in range(width):
            number = combined(load_number(numbers, j), T(load(src, at + j)))
            store_number(numbers, j, number)
            store(dst, at + j, result(load_number(bases, j), number))

    @separate
    def add(src: int, at: int, numbers: int, width: int) -> None:
        for j in range(width):
            store_number(numbers, j, combined(load_number(numbers, j), T(load(src, at + j))))

    return begin, scan, add
