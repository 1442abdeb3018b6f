"""The kernels of reductions, one for each op, data type and part: they handle values, not addresses of elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.functor.math_library import MathLibrary, Scalar
from ep.common.functor.reduction import first_reduction, reduction_of
from ep.common.native.fields import Float64, Int64
from ep.common.stored_types import stored_as, unit_of
from ep.cpu.compile.compiler import compile_tasks
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import storer
from ep.cpu.engine.reduce.columns import column_folder, rows_at_once
from ep.cpu.engine.reduce.plan import ROW_BLOCK, Part, may_overflow
from ep.cpu.engine.reduce.row import row_folder
from ep.cpu.engine.reduce.rows import rows_at_a_time, rows_folder
from ep.cpu.engine.reduce.vectors import VECTOR_BYTES, Lanes, lanes, merger, value_loader
from ep.cpu.lines.fetch import line_into_second
from ep.cpu.shared.state import LaunchState
from ep.include.data_type import DataType
from ep.include.number_kind import UNSIGNED, Kind, number_kind
from ep.include.primitive.op_table import REDUCTIONS
from ep.include.primitive.reduce_op import EXTREMES, ReduceOp

_NEAR_BYTES: Final = 2**14  # a part of L1
_BATCH: Final = 4  # vectors of rows whose results are written at a time
_AHEAD: Final = 4096  # bytes by which a row is prefetched; between distant rows, the next row is prefetched instead
_SCALE: Final = 2.0**-80  # a sum of numbers that are multiplied by this does not overflow


def storage_key(op: ReduceOp, data_type: DataType) -> tuple[ReduceOp, DataType]:
    """Return the key whose kernel serves this one: another for bools, and for integers if the sign does not matter."""
    kind, extreme = number_kind(data_type), op in EXTREMES
    if kind is Kind.BOOL:
        return first_reduction(op, kind), unit_of(data_type)
    if kind is Kind.INTEGER and (not extreme or data_type in UNSIGNED):
        return op, unit_of(data_type)
    return op, stored_as(data_type)


@cache
def reduce_tasks(op: ReduceOp, data_type: DataType, part: Part) -> dict[str, int]:
    """Return the addresses of the tasks of a part, by name. The key is a `storage_key`.

    fold_row(address, count, total, error, fresh, scaled): folds contiguous elements into one value.
    fold_apart(address, stride, num_rows, count, total, error, fresh, scaled): folds rows of elements into one value.
    fold_columns(address, stride, num_rows, count, total, error, fresh, far, scaled): folds rows into `count` values.
    merge(total, error, more, more_error, count): folds `count` values at `more` into the values at `total`.
    finish(dst, first, total, error, count, number, scaled, wrong): writes results [first, first + count).
    reduce_rows(address, stride, length, dst, first, last, number, wrong): writes the results of rows of contiguous
        elements.

    Their arguments:

    address: that of the elements that are read. stride: bytes from a row to the next. dst: the address of the results.
    total, error: addresses of values, and of their rounding errors. If `fresh`, they are not initialised yet.
    far: whether src is larger than the caches. number: the number of elements per element of dst.
    scaled: whether elements are scaled down, so that no sum overflows.
    wrong: the address of a word. The task writes to it how many of the last results must be recomputed because a sum
        has overflowed.
    """
    of, scales = lanes(op, data_type), may_overflow(op, data_type)
    fold_one, fold_rows, fold_down = row_folder(of, scales), rows_folder(of, scales), column_folder(of, scales)
    merge_values, write = merger(of), result_writer(op, data_type, of)
    element_bytes, row_block, together = data_type.itemsize, ROW_BLOCK[of.compensated], rows_at_a_time(of)
    parts, most_rows = of.parts, rows_at_once(of)
    batch, value_bytes = _BATCH * together, of.size * of.parts
    words_of_rows, words_of_vectors = _BATCH * VECTOR_BYTES // 8, together * VECTOR_BYTES // 8

    @separate
    def fold_blocks(
        address: int, count: int, total: Int64, error: Float64, fresh: int, ahead: int, scale: float
    ) -> None:
        """Fold the elements of a row, block by block."""
        value, no_error = Int64.array_on_stack(2), Float64.array_on_stack(2)
        no_error[0] = 0.0
        no_error[1] = 0.0
        for begin in range(0, count, row_block):
            out = total if fresh else value
            fold_one(out, address + begin * element_bytes, min(row_block, count - begin), ahead, scale)
            if fresh:
                error[0] = 0.0
                error[1] = 0.0
            else:
                merge_values(total, error, value, no_error, parts)
            fresh = False

    def fold_row(address: int, count: int, total: Int64, error: Float64, fresh: int, scaled: int) -> None:
        fold_blocks(address, count, total, error, fresh != 0, _AHEAD, _SCALE if scaled != 0 else 1.0)

    @separate
    def fold_some(out: int, vectors: int, address: int, stride: int, num_rows: int, count: int, scale: float) -> None:
        fold_rows(out, vectors, address, stride, num_rows, count, max(stride, _AHEAD), scale)

    def fold_apart(
        address: int, stride: int, num_rows: int, count: int, total: Int64, error: Float64, fresh: int, scaled: int
    ) -> None:
        """Fold rows one after the other; the values of a few short rows are computed together, then merged in order."""
        values, vectors = Int64.array_on_stack(words_of_rows), Float64.array_on_stack(words_of_vectors)
        scale, is_new, begin = _SCALE if scaled != 0 else 1.0, fresh != 0, 0
        no_error = Float64.array_on_stack(2)
        no_error[0] = 0.0
        no_error[1] = 0.0
        while begin < num_rows:
            if is_new or count > row_block:
                fold_blocks(address + begin * stride, count, total, error, is_new, stride, scale)
                is_new = False
                begin += 1
                continue
            some = min(together, num_rows - begin)
            fold_some(values, vectors, address + begin * stride, stride, some, count, scale)
            for row in range(some):
                merge_values(total, error, values + row * value_bytes, no_error, parts)
            begin += some

    @separate
    def fetch_ends(last: int, stride: int, first: int, stop: int) -> None:
        for row in range(first, stop):
            line_into_second(last + row * stride)

    def fold_columns(
        address: int, stride: int, num_rows: int, count: int, total: int, error: int, fresh: int, far: int, scaled: int
    ) -> None:
        """Fold rows into values of their columns, as many rows at a time as fit well in L1."""
        scale = _SCALE if scaled != 0 else 1.0
        some = max(_NEAR_BYTES // (stride * most_rows), 1) * most_rows
        ahead = some * stride if far != 0 else 0
        for begin in range(0, num_rows, some):
            rows, is_new = min(some, num_rows - begin), fresh if begin == 0 else 0
            if far != 0:
                fetch_ends(address + count * element_bytes - 1, stride, begin + some, min(begin + 2 * some, num_rows))
            fold_down(total, error, is_new, address + begin * stride, stride, ahead, rows, count, scale)

    def merge(total: int, error: int, more: int, more_error: int, count: int) -> None:
        merge_values(total, error, more, more_error, count)

    def finish(
        dst: int, first: int, total: int, error: int, count: int, number: int, scaled: int, wrong: Int64
    ) -> None:
        right = write(dst, first, total, error, count, number, _SCALE if scaled != 0 else 1.0)
        wrong[0] = 0 if right else count

    def reduce_rows(
        address: int, stride: int, length: int, dst: int, first: int, last: int, number: int, wrong: Int64
    ) -> None:
        values, vectors = Int64.array_on_stack(words_of_rows), Float64.array_on_stack(words_of_vectors)
        some, left = 1 if length > row_block else batch, 0
        for row in range(first, last, some):
            rows, error = min(some, last - row), Float64.at(0)
            if length > row_block:
                error = vectors
                fold_blocks(address + row * stride, length, values, error, True, _AHEAD, 1.0)
            else:
                for part in range(0, rows, together):
                    out, begin = values + part * value_bytes, address + (row + part) * stride
                    fold_some(out, vectors, begin, stride, min(together, rows - part), length, 1.0)
            if not write(dst, row, values, error, rows, number, 1.0):
                left = last - row
                break
        wrong[0] = left

    tasks: list[Callable[..., None]] = [fold_row, fold_apart, fold_columns, merge, finish, reduce_rows]
    wanted = [task for task in tasks if task.__name__ in part.value]
    addresses = compile_tasks(f"reduce.{op.name}.{data_type.name}.{part.name.lower()}", *wanted)
    return {task.__name__: address for task, address in zip(wanted, addresses, strict=True)}


def set_reduction(state: LaunchState, op: ReduceOp, data_type: DataType, parts: Iterable[Part] = ()) -> None:
    """Write the fields of `ReduceState` that the walk reads, with the tasks of `parts`."""
    served_by = storage_key(op, data_type)
    of = lanes(*served_by)
    state.set(itemsize=data_type.itemsize, parts=of.parts, value_size=of.size)
    for part in parts:
        state.set(**reduce_tasks(*served_by, part))


@cache
def result_writer(op: ReduceOp, data_type: DataType, of: Lanes) -> Any:
    """Return a function write(dst, first, total, error, count, number, scale) of `count` results of `number` elements.

    error: 0 if there are no rounding errors. The function returns False if a sum has overflowed although its result
        need not.
    """
    library = MathLibrary(np.dtype(of.numba_type).type, {}, jit)
    after = library.use(reduction_of(op, number_kind(data_type)).after)
    load, store = value_loader(of), storer(REDUCTIONS[op].result_type(data_type))
    scaled, compensated, is_complex = may_overflow(op, data_type), of.compensated, of.parts == 2

    @jit
    def is_finite(value: Scalar) -> Any:
        return value - value == value - value

    @jit
    def result(dst: int, place: int, total: int, error: int, index: int, number: int, scale: float) -> Scalar:
        """Return a number of the results, which is number `place` of dst."""
        if scaled and scale != 1.0:
            before = load(dst, place)
            if is_finite(before):
                return before  # it needs no scale, which may cost it all of its bits
        value = load(total, index)
        if compensated and error != 0:
            lost = load(error, index)
            value = value + lost if abs(lost) > 0 else value  # infinity and -0.0 need no correction
        value = after(value, number)
        return value / scale if scaled else value

    @jit
    def write(dst: int, first: int, total: int, error: int, count: int, number: int, scale: float) -> bool:
        right = True
        for index in range(count):
            if is_complex:
                begin, place = 2 * index, 2 * (first + index)
                real_part = result(dst, place, total, error, begin, number, scale)
                value = complex(real_part, result(dst, place + 1, total, error, begin + 1, number, scale))
                if scaled:
                    right &= is_finite(value.real) & is_finite(value.imag)
            else:
                value = result(dst, first + index, total, error, index, number, scale)
                if scaled:
                    right &= is_finite(value)
            store(dst, first + index, value)
        return right or scale != 1.0

    return write
