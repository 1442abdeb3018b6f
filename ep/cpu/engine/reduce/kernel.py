"""The kernels of reductions, one for each op and data type: what is done with values, not where they are."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
from numba.core import types

from ep.common.functor.math_library import MathLibrary
from ep.common.functor.reduction import reduction_of
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import load_word, stack_words, store_word, storer
from ep.cpu.engine.reduce.state import FINISH, FOLD_COLUMNS, FOLD_ROW, MERGE, WORK
from ep.cpu.engine.reduce.vectors import Lanes, column_folder, lanes, merger, row_folder, value_loader
from ep.include.data_type import DataType
from ep.include.number_kind import Kind, number_kind
from ep.include.primitive.op_table import REDUCTIONS
from ep.include.primitive.reduce_op import ReduceOp

_SCALE: Final = 2.0**-80  # no sum of numbers times this overflows

_OF_BOOLS: Final = {
    ReduceOp.kSum: ReduceOp.kAny,
    ReduceOp.kMax: ReduceOp.kAny,
    ReduceOp.kProd: ReduceOp.kAll,
    ReduceOp.kMin: ReduceOp.kAll,
}
_UNSIGNED: Final = {1: DataType.kUInt8, 2: DataType.kUInt16, 4: DataType.kUInt32, 8: DataType.kUInt64}


def storage_key(op: ReduceOp, data_type: DataType) -> tuple[ReduceOp, DataType]:
    """The key whose kernel serves another one: those of bools, and of integers where the sign does not matter."""
    kind, extreme = number_kind(data_type), op in (ReduceOp.kMin, ReduceOp.kMax)
    if kind is Kind.BOOL:
        return _OF_BOOLS.get(op, op), DataType.kUInt8
    if kind is Kind.INTEGER and not (extreme and data_type.dtype.kind == "i"):
        return op, _UNSIGNED[data_type.itemsize]
    return op, DataType.kInt8 if data_type is DataType.kChar else data_type


def _may_overflow(op: ReduceOp, data_type: DataType) -> bool:
    """Whether the sum may overflow where the result does not: then it is computed once more, of smaller numbers."""
    return op is ReduceOp.kMean and data_type in (DataType.kDouble, DataType.kComplex128)


@cache
def reduce_kernel(op: ReduceOp, data_type: DataType) -> int:
    """The address of the task (address of WORK) of a `storage_key`."""
    of, scaled = lanes(op, data_type), _may_overflow(op, data_type)
    fold_row, fold_columns, merge = row_folder(of, scaled), column_folder(of, scaled), merger(of)
    finish = _finisher(op, data_type, of)

    @separate
    def fold(out, address, count, scale):
        fold_row(out, address, count, scale)

    @separate
    def reduce_rows(work):
        value, address, stride = stack_words(2), load_word(work, WORK.address), load_word(work, WORK.stride)
        length, dst, number = load_word(work, WORK.num_rows), load_word(work, WORK.dst), load_word(work, WORK.number)
        first = load_word(work, WORK.first)
        last = first + load_word(work, WORK.count)
        for row in range(first, last):
            fold_row(value, address + row * stride, length, 1.0)
            if not finish(dst, row, value, 0, 1, number, 1.0):
                store_word(work, WORK.wrong, last - row)
                return

    def kernel(work):
        what = load_word(work, WORK.what)
        total, error, count = load_word(work, WORK.total), load_word(work, WORK.error), load_word(work, WORK.count)
        scale = _SCALE if load_word(work, WORK.scaled) != 0 else 1.0
        if what == FOLD_ROW:
            fold(total, load_word(work, WORK.address), count, scale)
        elif what == FOLD_COLUMNS:
            stride, num_rows = load_word(work, WORK.stride), load_word(work, WORK.num_rows)
            fold_columns(total, load_word(work, WORK.address), stride, num_rows, count, scale)
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
    real = of.numba_type in (types.float32, types.float64)
    library = MathLibrary(np.dtype(str(of.numba_type)).type, {}, jit)
    after = library.use(reduction_of(op, number_kind(data_type)).after)
    load, store = value_loader(of), storer(REDUCTIONS[op].result_type(data_type))
    scaled, compensated = _may_overflow(op, data_type), real and of.op is ReduceOp.kSum
    is_complex = of.parts == 2

    @jit
    def result(total, error, index, number, scale):
        value = load(total, index)
        if compensated and error != 0:
            lost = load(error, index)
            value = value if lost != lost else value + lost
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
