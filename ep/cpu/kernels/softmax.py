"""Softmax, LogSoftmax and their gradients: the passes over a row.

The largest element is subtracted before anything is rounded (`packed_exponential.py`). The errors of sums are far below
the last bit of a result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.loops import unrolled
from ep.common.primitive.signature import Signature
from ep.cpu.compile.conversion import arithmetic
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import arithmetic_type, loader, storer
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.reduce.lane_sums import lane_folder
from ep.cpu.engine.reduce.row_loops import largest_of, power_summer, product_summer, row_class, row_mapper
from ep.cpu.engine.reduce.row_passes import PARTS, ROWS, Passes, row_kernel, row_launcher
from ep.cpu.kernels.softmax_results import (
    difference,
    log_softmax_gradient,
    narrow_share,
    narrow_share_of_power,
    share,
    softmax_gradient,
)
from ep.cpu.shared.state import LaunchState
from ep.cpu.vector_math.bits import fabs, fma, select
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.logarithm import log1p_parts
from ep.cpu.vector_math.sets import row_numbers
from ep.cpu.vector_math.sums import sum_of, sum_of_ordered
from ep.include.data_type import DataType
from ep.include.number_kind import HALVES
from ep.include.primitive.structure import RowOp

_BLOCK: Final = 2**14  # elements that are added up before the sum is converted to float64
_INFINITY, _NAN = float("inf"), float("nan")
_load, _store = loader(DataType.kDouble), storer(DataType.kDouble)
_LARGEST = 0
_TOTAL, _ERROR, _NUMBER = 2 * PARTS, 3 * PARTS, 4 * PARTS
"""The places of a part's numbers: of the first pass, and of the second; the rounding error follows the total."""
_OF_ALL: Final = 0, PARTS
"""The places of the total and its rounding error in a first pass that sums."""


@jit
def _added(total: float, error: float, more: float) -> tuple[float, float]:
    """Add a number to a total with a rounding error."""
    result, lost = sum_of(total, more)
    return result, error + lost


def _fold_into(exact: bool, total_at: int, error_at: int) -> Any:
    """Return the function of `Passes` that adds up the lanes of records."""
    fold = lane_folder(exact)

    @inlined
    def fold_records(records: int, rows: int, parts: int, part: int) -> None:
        fold(records, rows, parts + 8 * (total_at + part), parts + 8 * (error_at + part))

    return fold_records


@inlined
def _no_records(records: int, rows: int, parts: int, part: int) -> None:
    pass


@jit
def _join_sums(parts: int, segments: int, total_at: int, error_at: int) -> None:
    """Add up the sums of all segments into that of the first one, as two numbers."""
    total, error = _load(parts, total_at), _load(parts, error_at)
    for segment in range(1, segments):
        total, error = _added(total, error, _load(parts, total_at + segment))
        error += _load(parts, error_at + segment)
    _store(parts, total_at, total)
    _store(parts, error_at, error)


@separate
def _join_largest(parts: int, segments: int) -> None:
    result = _load(parts, _LARGEST)
    for segment in range(1, segments):
        value = _load(parts, _LARGEST + segment)
        result = value if value > result or value != value else result
    _store(parts, _LARGEST, result)


class _Exponentials:
    """The common parts of Softmax and LogSoftmax, for a data type."""

    def __init__(self, data_type: DataType) -> None:
        self.data_type, self.T = data_type, arithmetic_type(data_type)
        self.exact = data_type is DataType.kDouble
        self.fold_second = _fold_into(self.exact, _TOTAL, _ERROR)
        self.kept_type = arithmetic(data_type)
        self.load, self.store = loader(self.kept_type), storer(self.kept_type)

    def first(self) -> Any:
        largest = largest_of(self.data_type)

        @inlined
        def first(src0: int, src1: int, count: int, parts: int, part: int, record: int) -> None:
            _store(parts, _LARGEST + part, np.float64(largest(src0, count)))

        return first

    def numbers(self) -> Any:
        """Return the function that computes the largest element and the other inputs of the exponentials."""
        T, compute, store = self.T, row_numbers.row_numbers(self.T), self.store

        @inlined
        def numbers(parts: int, numbers: int, row: int) -> None:
            largest = T(_load(parts, _LARGEST + row))
            c, shift, lowest = compute(largest)
            store(numbers, row, largest)
            store(numbers, ROWS + row, c)
            store(numbers, 2 * ROWS + row, shift)
            store(numbers, 3 * ROWS + row, lowest)

        return numbers

    def second(self, keeps: bool, without_largest: bool) -> Any:
        size, kept_size, load = self.data_type.itemsize, self.kept_type.itemsize, self.load
        sum_of_powers = power_summer(self.data_type, False, without_largest)
        keep_sum_of = power_summer(self.data_type, True, without_largest) if keeps else sum_of_powers
        always = keeps and self.data_type not in HALVES

        @inlined
        def second(
            src0: int,
            src1: int,
            kept: int,
            count: int,
            padded: bool,
            numbers: int,
            row: int,
            parts: int,
            part: int,
            record: int,
            ahead: int,
            at: int,
        ) -> None:
            number = 0
            largest, c = load(numbers, row), load(numbers, ROWS + row)
            shift, lowest = load(numbers, 2 * ROWS + row), load(numbers, 3 * ROWS + row)
            for begin in range(0, count, _BLOCK):
                src, width, is_first = src0 + begin * size, min(_BLOCK, count - begin), begin == 0
                place = at + begin
                if keeps and (always or kept != 0):
                    out = kept + begin * kept_size
                    number += keep_sum_of(
                        src, out, width, padded, record, is_first, ahead, place, largest, c, shift, lowest
                    )
                else:
                    number += sum_of_powers(
                        src, 0, width, False, record, is_first, ahead, place, largest, c, shift, lowest
                    )
            _store(parts, _NUMBER + part, np.float64(number))

        return second


def _softmax(data_type: DataType) -> Passes:
    make = _Exponentials(data_type)
    T, narrow, kept_type, load, store = make.T, data_type in HALVES, make.kept_type, make.load, make.store
    shares = row_mapper(narrow_share if narrow else share, (kept_type,), data_type)
    of_powers, Row = row_mapper(narrow_share_of_power(), (data_type,), data_type, 2), row_class(data_type)

    @separate
    def join_second(parts: int, segments: int) -> None:
        _join_sums(parts, segments, _TOTAL, _ERROR)

    @inlined
    def results(parts: int, numbers: int, results: int, row: int) -> None:
        """Compute 1 over the sum, as two numbers."""
        whole, error = sum_of_ordered(_load(parts, _TOTAL + row), _load(parts, _ERROR + row))
        factor = select(fabs(load(numbers, row)) < T(_INFINITY), 1.0 / whole, _NAN)
        rest = fma(-factor, error, fma(-factor, whole, 1.0))
        first = T(factor)
        store(results, row, first)
        store(results, ROWS + row, T(fma(factor, rest, factor - np.float64(first))))

    @inlined
    def apply(
        src0: int, src1: int, kept: int, dst: int, count: int, numbers: int, results: int, row: int, streams: bool
    ) -> None:
        used = Row.array_on_stack(4)
        used[0], used[1] = Row.splat(load(results, row)), Row.splat(load(results, ROWS + row))
        if narrow and kept == 0:
            for k in unrolled((1, 2, 3)):
                used[k] = Row.splat(load(numbers, k * ROWS + row))
            of_powers(src0, src0, dst, count, streams, used)
        else:
            shares(kept, kept, dst, count, streams, used)

    return Passes(
        make.exact, make.first(), _no_records, _join_largest,
        make.numbers(), make.second(True, False), make.fold_second, join_second, results, apply,
        kept_type.itemsize, not narrow, 40 if make.exact else 12,
    )  # fmt: skip


def _log_softmax(data_type: DataType) -> Passes:
    make = _Exponentials(data_type)
    T, load, store = make.T, make.load, make.store
    row_factor, differences = row_numbers.row_factor(T), row_mapper(difference, (data_type,), data_type)
    Row = row_class(data_type)

    @separate
    def join_second(parts: int, segments: int) -> None:
        _join_sums(parts, segments, _TOTAL, _ERROR)
        number = 0.0
        for segment in range(segments):
            number += _load(parts, _NUMBER + segment)
        _store(parts, _NUMBER, number)

    @inlined
    def results(parts: int, numbers: int, results: int, row: int) -> None:
        """Compute the largest element plus ln of the sum, as two numbers.

        The sum has a term of 1 for each of the largest elements. The other terms are summed separately, since small
        ones would be lost if they were added to these.
        """
        largest, c, shift = load(numbers, row), load(numbers, ROWS + row), load(numbers, 2 * ROWS + row)
        total, error = sum_of_ordered(_load(parts, _TOTAL + row), _load(parts, _ERROR + row))
        factor, factor_rest = row_factor(largest, c, shift)
        product = fma(total, factor, 0.0)
        rest = fma(total, factor, -product) + fma(total, factor_rest, error * factor)
        others, lost = sum_of(_load(parts, _NUMBER + row) - 1.0, product)
        log, log_rest = log1p_parts(others, lost + rest)
        log = select(fabs(largest) < T(_INFINITY), log, _NAN)
        whole, lost = sum_of(np.float64(largest), log)
        first = T(whole)
        store(results, row, first)
        store(results, ROWS + row, T((whole - np.float64(first)) + (lost + log_rest)))

    @inlined
    def apply(
        src0: int, src1: int, kept: int, dst: int, count: int, numbers: int, results: int, row: int, streams: bool
    ) -> None:
        used = Row.array_on_stack(2)
        used[0], used[1] = Row.splat(load(results, row)), Row.splat(load(results, ROWS + row))
        differences(src0, src0, dst, count, streams, used)

    return Passes(
        make.exact, make.first(), _no_records, _join_largest,
        make.numbers(), make.second(False, True), make.fold_second, join_second, results, apply,
        0, False, 40 if make.exact else 12,
    )  # fmt: skip


def _gradient(data_type: DataType, factors: int, result: Any, cost: int) -> Passes:
    """Return the passes that sum products of `factors` elements, and map elements by the sum of their row."""
    sum_of_products = product_summer(data_type, factors)
    map_row = row_mapper(result, (data_type,) * 2, data_type, 4 if factors == 2 else 2)
    T, kept_type, Row = arithmetic_type(data_type), arithmetic(data_type), row_class(data_type)
    load, store = loader(kept_type), storer(kept_type)
    total_at, error_at = _OF_ALL

    @inlined
    def first(src0: int, src1: int, count: int, parts: int, part: int, record: int) -> None:
        sum_of_products(src0, src1, count, record)

    @separate
    def join_first(parts: int, segments: int) -> None:
        _join_sums(parts, segments, total_at, error_at)

    @inlined
    def results(parts: int, numbers: int, results: int, row: int) -> None:
        """Compute the sum, as two numbers; an infinite sum has no error."""
        total, error = sum_of(_load(parts, total_at + row), _load(parts, error_at + row))
        whole = select(error == error, total, _load(parts, total_at + row))
        first = T(whole)
        store(results, row, first)
        rest = (whole - np.float64(first)) + error
        store(results, ROWS + row, T(select(fabs(rest) < _INFINITY, rest, 0.0)))

    @inlined
    def apply(
        src0: int, src1: int, kept: int, dst: int, count: int, numbers: int, results: int, row: int, streams: bool
    ) -> None:
        used = Row.array_on_stack(2)
        used[0], used[1] = Row.splat(load(results, row)), Row.splat(load(results, ROWS + row))
        map_row(src0, src1, dst, count, streams, used)

    exact, fold = data_type is DataType.kDouble, _fold_into(data_type is DataType.kDouble, total_at, error_at)
    return Passes(exact, first, fold, join_first, None, None, fold, join_first, results, apply, 0, False, cost)


def _softmax_backward(data_type: DataType) -> Passes:
    return _gradient(data_type, 2, softmax_gradient(data_type), 5)


def _log_softmax_backward(data_type: DataType) -> Passes:
    return _gradient(data_type, 1, log_softmax_gradient(data_type), 12 if data_type is not DataType.kDouble else 40)


_PASSES: Final[dict[RowOp, Callable[[DataType], Passes]]] = {
    RowOp.kSoftmax: _softmax,
    RowOp.kLogSoftmax: _log_softmax,
    RowOp.kSoftmaxBackward: _softmax_backward,
    RowOp.kLogSoftmaxBackward: _log_softmax_backward,
}


@cache
def _kernel(op: RowOp, data_type: DataType) -> tuple[int, Passes]:
    passes = _PASSES[op](data_type)
    return row_kernel(f"rows.{op.name[1:]}.{data_type.name}", passes, data_type.itemsize), passes


def softmax_task(op: RowOp, data_type: DataType) -> tuple[int, int]:
    """Return the address of the task of one of the four primitives, as `row_kernel` does, and the cost of an element in
    bytes that could be moved in the same time."""
    task, passes = _kernel(op, data_type)
    return task, 2 * passes.cost  # for each of two buffers


def softmax_launcher(op: RowOp, signature: Signature, state: LaunchState, data_type: DataType) -> Launcher:
    """Return the launcher of one of the four primitives."""
    return row_launcher(signature, state, *_kernel(op, data_type))
