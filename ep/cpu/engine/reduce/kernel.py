"""The kernels of reductions, one for each op and data type: what is done with values, not where they are."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.functor.math_library import MathLibrary
from ep.common.functor.reduction import first_reduction, reduction_of
from ep.common.stored_types import stored_as, unit_of
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import load_word, stack_words, store_word, store_words, storer
from ep.cpu.engine.reduce.columns import column_folder, rows_at_once
from ep.cpu.engine.reduce.plan import ROW_BLOCK
from ep.cpu.engine.reduce.row import row_folder
from ep.cpu.engine.reduce.rows import rows_at_a_time, rows_folder
from ep.cpu.engine.reduce.state import FINISH, FOLD_COLUMNS, FOLD_ROW, MERGE, WORK
from ep.cpu.engine.reduce.vectors import VECTOR_BYTES, Lanes, lanes, merger, value_loader
from ep.include.data_type import DataType
from ep.include.number_kind import Kind, number_kind
from ep.include.primitive.op_table import REDUCTIONS
from ep.include.primitive.reduce_op import EXTREMES, ReduceOp

_NEAR_BYTES: Final = 2**14  # a part of the first cache
_BATCH: Final = 4  # vectors of rows whose results are written at a time
_SCALE: Final = 2.0**-80  # no sum of numbers times this overflows


def storage_key(op: ReduceOp, data_type: DataType) -> tuple[ReduceOp, DataType]:
    """The key whose kernel serves another one: those of bools, and of integers where the sign does not matter."""
    kind, extreme = number_kind(data_type), op in EXTREMES
    if kind is Kind.BOOL:
        return first_reduction(op, kind), DataType.kUInt8
    if kind is Kind.INTEGER and not (extreme and data_type.dtype.kind == "i"):
        return op, unit_of(data_type)
    return op, stored_as(data_type)


def _may_overflow(op: ReduceOp, data_type: DataType) -> bool:
    """Whether the sum may overflow where the result does not: then it is computed once more, of smaller numbers."""
    return op is ReduceOp.kMean and data_type in (DataType.kDouble, DataType.kComplex128)


@cache
def reduce_kernel(op: ReduceOp, data_type: DataType) -> int:
    """The address of the task (address of WORK) of a `storage_key`."""
    of, scaled = lanes(op, data_type), _may_overflow(op, data_type)
    fold_row, fold_columns, merge = row_folder(of, scaled), column_folder(of, scaled), merger(of)
    fold_rows, finish = rows_folder(of, scaled), _finisher(op, data_type, of)
    element_bytes, row_block, together = data_type.itemsize, ROW_BLOCK[of.compensated], rows_at_a_time(of)
    parts, most_rows = of.parts, rows_at_once(of)
    batch, value_bytes = _BATCH * together, of.size * of.parts
    words_of_rows, words_of_vectors = _BATCH * VECTOR_BYTES // 8, together * VECTOR_BYTES // 8

    @separate
    def fold_adjacent(work, total, error, count, scale):
        """The elements of a row, block by block."""
        value, no_error, address = stack_words(2), stack_words(2), load_word(work, WORK.address)
        store_words(no_error, 0, 0)
        fresh = load_word(work, WORK.fresh) != 0
        for begin in range(0, count, row_block):
            out = total if fresh else value
            fold_row(out, address + begin * element_bytes, min(row_block, count - begin), scale)
            if fresh:
                store_words(error, 0, 0)
            else:
                merge(total, error, value, no_error, parts)
            fresh = False

    @separate
    def fold_down(work, total, error, count, scale):
        """Rows, as many at a time as the first cache holds well, into values of their columns."""
        address, stride = load_word(work, WORK.address), load_word(work, WORK.stride)
        num_rows, fresh = load_word(work, WORK.num_rows), load_word(work, WORK.fresh)
        together = max(_NEAR_BYTES // (stride * most_rows), 1) * most_rows
        ahead = together * stride if load_word(work, WORK.far) != 0 else 0
        for begin in range(0, num_rows, together):
            rows = min(together, num_rows - begin)
            fold_columns(total, error, fresh, address + begin * stride, stride, ahead, rows, count, scale)
            fresh = 0

    @separate
    def reduce_rows(work):
        values, vectors = stack_words(words_of_rows), stack_words(words_of_vectors)
        address, stride = load_word(work, WORK.address), load_word(work, WORK.stride)
        length, dst, number = load_word(work, WORK.num_rows), load_word(work, WORK.dst), load_word(work, WORK.number)
        first = load_word(work, WORK.first)
        last = first + load_word(work, WORK.count)
        if length > row_block:
            store_word(work, WORK.fresh, 1)
            for row in range(first, last):
                store_word(work, WORK.address, address + row * stride)
                fold_adjacent(work, values, vectors, length, 1.0)
                if not finish(dst, row, values, vectors, 1, number, 1.0):
                    store_word(work, WORK.wrong, last - row)
                    return
            return
        for row in range(first, last, batch):
            rows = min(batch, last - row)
            for part in range(0, rows, together):
                out, begin = values + part * value_bytes, address + (row + part) * stride
                fold_rows(out, vectors, begin, stride, min(together, rows - part), length, 1.0)
            if not finish(dst, row, values, 0, rows, number, 1.0):
                store_word(work, WORK.wrong, last - row)
                return

    def kernel(work):
        what = load_word(work, WORK.what)
        total, error, count = load_word(work, WORK.total), load_word(work, WORK.error), load_word(work, WORK.count)
        scale = _SCALE if load_word(work, WORK.scaled) != 0 else 1.0
        if what == FOLD_ROW:
            fold_adjacent(work, total, error, count, scale)
        elif what == FOLD_COLUMNS:
            fold_down(work, total, error, count, scale)
        elif what == MERGE:
            merge(total, error, load_word(work, WORK.more), load_word(work, WORK.more_error), count)
        elif what == FINISH:
            dst, first, number = (
                load_word(work, WORK.dst),
                load_word(work, WORK.first),
                load_word(work, WORK.number),
            )
            if not finish(dst, first, total, error, count, number, scale):
                store_word(work, WORK.wrong, count)
        else:
            reduce_rows(work)

    return compile_task(f"reduce.{op.name}.{data_type.name}", kernel, num_words=1, light=True)


def _finisher(op: ReduceOp, data_type: DataType, of: Lanes) -> Any:
    """A function finish(dst, first, total, error, count, number, scale): writes `count` results of `number` elements.

    error: 0 where nothing was lost. It returns whether all is right: not where a result has overflowed that need not.
    """
    library = MathLibrary(np.dtype(str(of.numba_type)).type, {}, jit)
    after = library.use(reduction_of(op, number_kind(data_type)).after)
    load, store = value_loader(of), storer(REDUCTIONS[op].result_type(data_type))
    scaled, compensated, is_complex = _may_overflow(op, data_type), of.compensated, of.parts == 2

    @jit
    def result(total, error, index, number, scale):
        value = load(total, index)
        if compensated and error != 0:
            lost = load(error, index)
            value = value + lost if abs(lost) > 0 else value  # nothing is missing of infinity, nor of -0.0
        value = after(value, number)
        return value / scale if scaled else value

    @jit
    def is_finite(value):
        return value - value == value - value

    @jit
    def finish(dst, first, total, error, count, number, scale):
        right = True
        for index in range(count):
            if is_complex:
                real_part = result(total, error, 2 * index, number, scale)
                value = complex(real_part, result(total, error, 2 * index + 1, number, scale))
                if scaled:
                    right &= is_finite(value.real) & is_finite(value.imag)
            else:
                value = result(total, error, index, number, scale)
                if scaled:
                    right &= is_finite(value)
            store(dst, first + index, value)
        return right or scale != 1.0

    return finish
