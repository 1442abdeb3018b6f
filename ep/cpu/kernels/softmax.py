"""Softmax, LogSoftmax and their gradients: the passes over a row.

The largest element comes off before anything is rounded (`vector_math/packed_exponential.py`). Sums are exact but for
what is far below the last bit of a result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.primitive.signature import Signature
from ep.cpu.compile.conversion import HALVES
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import arithmetic_type, load_float64, storer
from ep.cpu.engine.reduce.row_loops import arithmetic, largest_of, power_summer, products_of, row_mapper
from ep.cpu.engine.reduce.row_passes import PART_WORDS, Passes, row_entry, row_kernel
from ep.cpu.engine.state import LaunchState
from ep.cpu.vector_math import packed_exponential
from ep.cpu.vector_math.bits import fabs, fma, select
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.logarithm import log1p
from ep.include.data_type import DataType
from ep.include.primitive.log_softmax import LogSoftmax
from ep.include.primitive.log_softmax_backward import LogSoftmaxBackward
from ep.include.primitive.primitive import Primitive
from ep.include.primitive.softmax import Softmax
from ep.include.primitive.softmax_backward import SoftmaxBackward

_BLOCK: Final = 2**14  # elements that are added up before the sum is taken into float64
_INFINITY, _NAN = float("inf"), float("nan")
_store = storer(DataType.kDouble)


@jit
def _added(total, error, more):
    """A sum with what is missing of it, and another number: Knuth's two-sum."""
    result = total + more
    part = result - total
    return result, error + ((total - (result - part)) + (more - part))


@jit
def _merged(parts, segments):
    """The sums of all segments, from the first on, as two numbers."""
    total, error = load_float64(parts, 0), load_float64(parts, 1)
    for segment in range(1, segments):
        total, error = _added(total, error, load_float64(parts, PART_WORDS * segment))
        error += load_float64(parts, PART_WORDS * segment + 1)
    return total, error


@jit
def _whole(total, error):
    return select(error == error, total + error, total)  # what is missing of infinity is NaN


class _Exponentials:
    """What Softmax and LogSoftmax have in common, for a data type."""

    def __init__(self, data_type: DataType) -> None:
        self.data_type, self.T = data_type, arithmetic_type(data_type)
        self.single = self.T is np.float32

    def first(self) -> Any:
        largest = largest_of(self.data_type)

        @inlined
        def first(src0, src1, count, part):
            _store(part, 0, np.float64(largest(src0, count)))

        return first

    def numbers(self) -> Any:
        """The largest element, and what the exponentials take."""
        T, row_numbers = self.T, packed_exponential.row_numbers(self.T)

        @inlined
        def numbers(parts, segments):
            result = load_float64(parts, 0)
            for segment in range(1, segments):
                value = load_float64(parts, PART_WORDS * segment)
                result = value if value > result or value != value else result
            largest = T(result)
            c, shift, lowest = row_numbers(largest)
            return largest, c, shift, lowest

        return numbers

    def second(self, keeps: bool, without_largest: bool) -> Any:
        size, kept_size = self.data_type.itemsize, arithmetic(self.data_type).itemsize
        sum_of = power_summer(self.data_type, False, without_largest)
        keep_sum_of = power_summer(self.data_type, True, without_largest) if keeps else sum_of
        always = keeps and self.data_type not in HALVES

        @inlined
        def second(src0, src1, kept, count, numbers, part):
            total, error, number = 0.0, 0.0, 0.0
            for begin in range(0, count, _BLOCK):
                src, width = src0 + begin * size, min(_BLOCK, count - begin)
                if keeps and (always or kept != 0):
                    more, rest, equal = keep_sum_of(src, kept + begin * kept_size, width, *numbers)
                else:
                    more, rest, equal = sum_of(src, 0, width, *numbers)
                total, error = _added(total, error, more)
                error += rest
                number += equal
            _store(part, 0, total)
            _store(part, 1, error)
            _store(part, 2, number)

        return second


def _difference(v: Any, x: Any, numbers: list[Any]) -> Any:
    """(x - largest) - log_sum."""
    return v.builder.fsub(v.builder.fsub(x[0], numbers[0]), numbers[1])


def _share(v: Any, e: Any, numbers: list[Any]) -> Any:
    """e times a factor, which is a sum of two numbers."""
    factor, rest = numbers[:2]
    return v.fma(e[0], factor, v.builder.fmul(e[0], rest))


def _narrow_share(v: Any, e: Any, numbers: list[Any]) -> Any:
    return v.builder.fmul(e[0], numbers[0])


def _narrow_share_of_power(v: Any, x: Any, numbers: list[Any]) -> Any:
    return v.builder.fmul(packed_exponential.power(v, x[0], tuple(numbers[2:]), narrow=True), numbers[0])


def _softmax(data_type: DataType) -> Passes:
    make = _Exponentials(data_type)
    T, narrow, kept_type = make.T, data_type in HALVES, arithmetic(data_type)
    shares = row_mapper(_narrow_share if narrow else _share, (kept_type,), data_type, 5)
    of_powers = row_mapper(_narrow_share_of_power, (data_type,), data_type, 5) if narrow else shares

    @inlined
    def results(parts, segments, numbers):
        largest, c, shift, lowest = numbers
        total, error = _merged(parts, segments)
        whole = total + error
        error -= whole - total
        factor = select(fabs(largest) < T(_INFINITY), 1.0 / whole, _NAN)
        rest = factor * (fma(-factor, whole, 1.0) - factor * error)
        first = T(factor)
        return first, T((factor - np.float64(first)) + rest), c, shift, lowest

    @inlined
    def apply(src0, src1, kept, dst, count, results):
        if narrow and kept == 0:
            of_powers(src0, src0, dst, count, results)
        else:
            shares(kept, kept, dst, count, results)

    return Passes(
        make.first(), make.numbers(), make.second(True, False), results, apply, kept_type.itemsize, not narrow,
        12 if make.single else 40,
    )  # fmt: skip


def _log_softmax(data_type: DataType) -> Passes:
    make = _Exponentials(data_type)
    T, row_factor, differences = (
        make.T,
        packed_exponential.row_factor(make.T),
        row_mapper(_difference, (data_type,), data_type, 2),
    )

    @inlined
    def results(parts, segments, numbers):
        """The largest element, and ln of the sum: 1 for each of these, and the others, which would be lost in it."""
        largest, c, shift, _ = numbers
        total, error = _merged(parts, segments)
        number = -1.0
        for segment in range(segments):
            number += load_float64(parts, PART_WORDS * segment + 2)
        others = fma(total + error, row_factor(largest, c, shift), number)
        return largest, T(select(fabs(largest) < T(_INFINITY), log1p(others), _NAN))

    @inlined
    def apply(src0, src1, kept, dst, count, results):
        differences(src0, src0, dst, count, results)

    return Passes(
        make.first(), make.numbers(), make.second(False, True), results, apply, 0, False, 12 if make.single else 40
    )


def _sum(data_type: DataType, factors: int) -> tuple[Any, Any]:
    """The pass that sums products of so many elements, and what gives the sum of a row, in the type of arithmetic."""
    sum_of, T = products_of(data_type, factors), arithmetic_type(data_type)

    @inlined
    def first(src0, src1, count, part):
        total, error = sum_of(src0, src1, count)
        _store(part, 0, total)
        _store(part, 1, error)

    @inlined
    def numbers(parts, segments):
        total, error = _merged(parts, segments)
        return (T(_whole(total, error)),)

    return first, numbers


def _gradient(data_type: DataType, factors: int, functor: Any, cost: int) -> Passes:
    map_row = row_mapper(functor, (data_type, data_type), data_type, 1)

    @inlined
    def results(parts, segments, numbers):
        return numbers

    @inlined
    def apply(src0, src1, kept, dst, count, results):
        map_row(src0, src1, dst, count, results)

    return Passes(*_sum(data_type, factors), None, results, apply, 0, False, cost)


def _softmax_backward(data_type: DataType) -> Passes:
    def result(v: Any, x: Any, numbers: list[Any]) -> Any:
        """(dy - total) y."""
        return v.builder.fmul(v.builder.fsub(x[1], numbers[0]), x[0])

    return _gradient(data_type, 2, result, 5)


def _log_softmax_backward(data_type: DataType) -> Passes:
    def result(v: Any, x: Any, numbers: list[Any]) -> Any:
        """dy - e^y total."""
        e = packed_exponential.exp(v, x[0])
        return v.fma(v.builder.fneg(e), numbers[0], x[1])

    return _gradient(data_type, 1, result, 12 if data_type is not DataType.kDouble else 40)


_PASSES: Final[dict[type[Primitive], Callable[[DataType], Passes]]] = {
    Softmax: _softmax,
    LogSoftmax: _log_softmax,
    SoftmaxBackward: _softmax_backward,
    LogSoftmaxBackward: _log_softmax_backward,
}


@cache
def _kernel(interface: type[Primitive], data_type: DataType) -> tuple[int, Passes]:
    passes = _PASSES[interface](data_type)
    return row_kernel(f"rows.{interface.__name__}.{data_type.name}", passes, data_type.itemsize), passes


def softmax_entry(
    interface: type[Primitive], signature: Signature, state: LaunchState, data_type: DataType
) -> Callable[..., int]:
    """The entry (state, rows, cols, sources, dst) of one of the four."""
    return row_entry(signature, state, *_kernel(interface, data_type))
