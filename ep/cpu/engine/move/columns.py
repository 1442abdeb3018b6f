"""Copies between column ranges of a matrix and separate matrices: many small copies in one launch.

Each part is moved row by row. Parts that are large enough for several threads to share are left to the walk.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ep.common.native.fields import Int64, word
from ep.common.native.object_layout import READABLE, WRITABLE
from ep.common.native.objects import ArrayObject, TupleObject
from ep.common.native.python_calls import as_int
from ep.common.native.python_function import bound_function
from ep.common.native.record import Record
from ep.cpu.compile.compiler import compile_function, compile_task
from ep.cpu.compile.integers import as_word, multiply_sizes
from ep.cpu.compile.jit import jit
from ep.cpu.compile.ndarray import array_data
from ep.cpu.engine.check import clash
from ep.cpu.engine.move.column_parts import LARGE, LARGE_BYTES
from ep.cpu.lines.inline_copy import copy_bytes
from ep.cpu.shared.state import GRAIN_BYTES, State
from ep.cpu.threads.parallel import run


class _ColumnsContext(Record):
    """The context of the task that moves parts."""

    whole = word()  # the address of the first row, at the first column of the first part
    row_bytes = word()  # bytes from one row of the whole matrix to the next
    rows = word()
    size = word()  # bytes of an element
    to_parts = word()  # whether the parts are written
    parts = word()  # the address of the tuple


@jit
def _num_elements(array: ArrayObject) -> int:
    """Return the number of elements of an array, given by the address of the object."""
    count, dims = 1, array.dims
    for axis in range(array.num_dims):
        count *= dims[axis]
    return count


def _move(columns: _ColumnsContext, begin: int, end: int) -> None:
    """Move the parts in [begin, end) that are not large."""
    whole, row_bytes = columns.whole, columns.row_bytes
    rows, size = columns.rows, columns.size
    to_parts, items = columns.to_parts, TupleObject.at(columns.parts).items
    for k in range(end):
        part = ArrayObject.at(items[k])
        part_bytes = _num_elements(part) * size
        width = part_bytes // rows
        if k >= begin and part_bytes <= LARGE_BYTES:
            inside, own = whole, part.data
            for _ in range(rows):
                copy_bytes(own if to_parts != 0 else inside, inside if to_parts != 0 else own, width)
                inside += row_bytes
                own += width
        whole += width


@cache
def columns_task() -> int:
    """Return the address of the task (columns, begin, end) that moves parts."""
    return compile_task("move.columns", _move)


@cache
def columns_entry() -> Callable[..., int]:
    """Return the function for parts of a matrix.

    Its arguments are (state, task, dtype, bytes of an element, rows, columns, begin, whether to parts, whole, parts).

    It returns 0 if the launch was done, and LARGE if everything is done except for parts of more than LARGE_BYTES. It
    returns 1 if something is not as expected, or if parts that are written overlap, which threads would write in any
    order; then nothing has been written.
    """

    @jit
    def overlaps(parts: TupleObject, number: int, data: int, elements: int, size: int) -> bool:
        """Return whether a part overlaps one of the first `number` parts."""
        for k in range(number):
            other = ArrayObject.at(parts.items[k])
            if clash(data, elements, size, other.data, _num_elements(other), size, False):
                return True
        return False

    @jit
    def moved(args: Int64) -> int:
        state, task, dtype = State.at(ArrayObject.at(args[0]).data), as_word(args[1]), args[2]
        size, rows, cols = as_word(args[3]), as_word(args[4]), as_word(args[5])
        column, to_parts = as_word(args[6]), as_word(args[7])
        whole_array, parts = ArrayObject.at(args[8]), TupleObject.at(args[9])
        if rows <= 0 or cols <= 0 or column < 0:
            return 1
        ndarray_type, count = state.ndarray_type, multiply_sizes(rows, cols)
        whole = array_data(whole_array, ndarray_type, dtype, count, READABLE if to_parts != 0 else WRITABLE)
        if whole == 0:
            return 1
        first, number, num_bytes, large = whole + column * size, parts.length, 0, 0
        end = 0  # of all parts so far
        for k in range(number):
            part = ArrayObject.at(parts.items[k])
            data = array_data(part, ndarray_type, dtype, 0, WRITABLE if to_parts != 0 else READABLE)
            if data == 0:
                return 1
            elements = _num_elements(part)
            if elements % rows != 0 or elements // rows > cols - column:
                return 1
            if clash(whole, count, size, data, elements, size, False):
                return 1
            if to_parts != 0 and data < end and overlaps(parts, k, data, elements, size):
                return 1
            end = max(end, data + elements * size)
            column += elements // rows
            if elements * size > LARGE_BYTES:
                large = LARGE
            else:
                num_bytes += 2 * elements * size
        columns = _ColumnsContext.on_stack()
        columns.whole, columns.row_bytes, columns.rows = first, cols * size, rows
        columns.size, columns.to_parts, columns.parts = size, to_parts, parts
        run(state, task, columns, number, max(GRAIN_BYTES * number // max(num_bytes, 1), 1))
        return large

    def entry(_: int, args: Int64, num_args: int, names: int) -> int:
        return as_int(moved(args) if num_args == 10 and names == 0 else 1)

    return bound_function("copy_nd.columns", compile_function("copy_nd.columns", entry, 4), None)
