"""Softmax, LogSoftmax and their gradients: the passes over a row.

The largest element comes off first. What rounding loses of x - max is carried into the exponential: else the error of
e^(x - max) would grow with the difference. Sums are of float64, whatever the data type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import log1p
from typing import Any, Final

import numpy as np

from ep.common.primitive.signature import Signature
from ep.cpu.compile.conversion import HALVES
from ep.cpu.compile.jit import jit, masked, separate
from ep.cpu.compile.memory import arithmetic_type, load_float64, load_word, loader, stack_words, store_word, storer
from ep.cpu.engine.reduce.row_passes import BLOCK, Passes, mapper, row_entry, row_kernel, store_float64
from ep.cpu.engine.reduce.vectors import exact_adder, lanes, row_folder, value_loader
from ep.cpu.engine.state import LaunchState
from ep.cpu.vector_math import exponential
from ep.cpu.vector_math.bits import select
from ep.cpu.vector_math.inlined import inlined
from ep.cpu.vector_math.limits import clamp
from ep.cpu.vector_math.scaling import scaled
from ep.cpu.vector_math.single import exponential as single
from ep.include.data_type import DataType
from ep.include.primitive.log_softmax import LogSoftmax
from ep.include.primitive.log_softmax_backward import LogSoftmaxBackward
from ep.include.primitive.primitive import Primitive
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.softmax import Softmax
from ep.include.primitive.softmax_backward import SoftmaxBackward

_VECTOR_BYTES: Final = 64
_BUFFER_WORDS: Final = BLOCK  # float64 of a block


@cache
def _exponential(data_type: DataType) -> Any:
    """A function (x, x_rest) of e^(x + x_rest), for x <= 0 and a rest that is a rounding error of x, or NaN."""
    if data_type in HALVES:

        @inlined
        def exp_narrow(x, x_rest):  # a rest of 2^-18 at most is far below the last bit of the result
            return single.exp(x)

        return exp_narrow
    if data_type is DataType.kFloat:
        zero, one, lowest, highest = np.float32(0), np.float32(1), np.float32(-104), np.float32(89)

        @inlined
        def exp(x, x_rest):
            x_rest = select(x_rest == x_rest, x_rest, zero)
            r, r_rest, n_bits = single.reduced(clamp(x, lowest, highest), x_rest)
            return single.scaled(one + (r + single.exp_tail(r, r_rest)), n_bits)

        return exp

    @inlined
    def exp_wide(x, x_rest):
        x_rest = select(x_rest == x_rest, x_rest, 0.0)
        r, s, n = exponential.exp_reduced(clamp(x, -750.0, 750.0), x_rest)
        return scaled(1.0 + (r + s), n)

    return exp_wide


@inlined
def _difference(x, largest):
    """x - largest, and what rounding has lost of it: NaN beside infinities."""
    d = x - largest
    part = d - x
    return d, (x - (d - part)) - (largest + part)


@jit
def _merged_sum(parts, segments):
    """The sum of the numbers of all segments, from the first on."""
    total, error = 0.0, 0.0
    for segment in range(segments):
        total, error = _added(total, error, load_float64(parts, 3 * segment), load_float64(parts, 3 * segment + 1))
    return _whole(total, error)


@jit
def _added(total, error, more, more_error):
    """A sum and its error, and another one: Knuth's two-sum."""
    result = total + more
    part = result - total
    return result, (error + more_error) + ((total - (result - part)) + (more - part))


@jit
def _whole(total, error):
    return total if error != error else total + error


class _Makers:
    """The parts that passes are made of, for a data type."""

    def __init__(self, data_type: DataType) -> None:
        self.data_type, self.T = data_type, arithmetic_type(data_type)
        self.single = self.T is np.float32
        self.arithmetic = DataType.kFloat if self.single else DataType.kDouble
        self.exp = _exponential(data_type)

    def map(self, functor: Any, out: DataType | None = None) -> Any:
        """The map of elements to `out`, by default those of the data type."""
        out, load = out or self.data_type, loader(self.data_type)
        lanes = _VECTOR_BYTES // min(self.data_type.itemsize, out.itemsize)
        return mapper(jit(functor), (load, load), storer(out), lanes)

    def sum(self, computed: DataType, fill: Any = None, in_dst: bool = False) -> Any:
        """The pass that sums what `fill(src0, src1, out, count, p)` computes; it returns a number to be added up.

        computed: the type of what is summed.
        fill: None sums src1 itself.
        in_dst: whether dst keeps it.
        """
        fold, add, fills = row_folder(lanes(ReduceOp.kSum, computed)), exact_adder(), fill is not None
        size, out_size, exact = self.data_type.itemsize, computed.itemsize, not self.single

        @separate
        def add_up(src0, src1, dst, count, p, part):
            buffer, value, total, error, number = stack_words(_BUFFER_WORDS), stack_words(1), 0.0, 0.0, 0
            for begin in range(0, count, BLOCK):
                width, out = min(BLOCK, count - begin), dst + begin * out_size if in_dst else buffer
                if fills:
                    number += fill(src0 + begin * size, src1 + begin * size, out, width, p)
                else:
                    out = src1 + begin * size
                if exact:
                    more = add(out, width)
                else:
                    fold(value, out, width, 1.0)
                    more = load_float64(value, 0)
                total, error = _added(total, error, more, 0.0)
            store_float64(part, 0, total)
            store_float64(part, 1, error)
            store_word(part, 2, number)

        return add_up

    def largest(self) -> tuple[Any, Any]:
        """The pass that finds the largest element, and what merges segments."""
        of = lanes(ReduceOp.kMax, self.data_type)
        fold_row, load = row_folder(of), value_loader(of)

        @separate
        def largest(src0, src1, dst, count, p, part):
            value = stack_words(1)
            fold_row(value, src0, count, 1.0)
            store_float64(part, 0, load(value, 0))

        @jit
        def merge(parts, segments):
            result = load_float64(parts, 0)
            for segment in range(1, segments):
                value = load_float64(parts, 3 * segment)
                result = value if value > result or value != value else result
            return result

        return largest, merge


def _softmax(make: _Makers) -> Passes:
    T, exp, keeps = make.T, make.exp, make.data_type is make.arithmetic

    def power(x, _, largest, q):
        return exp(*_difference(x, largest))

    def share(e, _, largest, factor):
        return e * factor

    def share_of_power(x, _, largest, factor):
        return exp(*_difference(x, largest)) * factor

    powers = make.map(power, make.arithmetic)

    @jit
    def fill(src0, src1, out, count, largest):
        powers(src0, src1, out, count, T(largest), T(0))
        return 0

    shares = make.map(share) if keeps else make.map(share_of_power)

    @separate
    def apply(src0, src1, dst, count, largest, total):
        shares(dst if keeps else src0, src1, dst, count, T(largest), T(1.0 / total))

    return Passes(
        *make.largest(), make.sum(make.arithmetic, fill, keeps), _merged_sum, apply, 24 if make.single else 100
    )


def _log_softmax(make: _Makers) -> Passes:
    T, exp, zero = make.T, make.exp, make.T(0)

    def power(x, _, largest, q):
        d, rest = _difference(x, largest)
        return select(d == zero, zero, exp(d, rest))

    load = loader(make.data_type)

    @masked
    def count_largest(src0, count, largest):
        number = np.int32(0)  # of 32 bits: a vector has more of them than of words
        for place in range(count):
            number = np.int32(number + (load(src0, place) == largest))
        return number

    def result(x, _, largest, log_sum):
        return (x - largest) - log_sum

    powers, results = make.map(power, make.arithmetic), make.map(result)

    @jit
    def fill(src0, src1, out, count, largest):
        top = T(largest)
        powers(src0, src1, out, count, top, zero)
        return count_largest(src0, count, top)

    @jit
    def merge(parts, segments):
        """ln of the sum: 1 of a largest element, and the others, which would be lost beside it."""
        others = -1
        for segment in range(segments):
            others += load_word(parts, 3 * segment + 2)
        return log1p(_merged_sum(parts, segments) + others)

    @separate
    def apply(src0, src1, dst, count, largest, log_sum):
        results(src0, src1, dst, count, T(largest), T(log_sum))

    return Passes(*make.largest(), make.sum(make.arithmetic, fill), merge, apply, 20 if make.single else 80)


def _softmax_backward(make: _Makers) -> Passes:
    T, wide = make.T, np.float64

    def product(y, dy, p, q):
        return wide(y) * wide(dy)

    def result(y, dy, total, q):
        return (dy - total) * y

    products, results = make.map(product, DataType.kDouble), make.map(result)

    @jit
    def fill(src0, src1, out, count, p):
        products(src0, src1, out, count, T(0), T(0))
        return 0

    @separate
    def apply(src0, src1, dst, count, total, _):
        results(src0, src1, dst, count, T(total), T(0))

    return Passes(make.sum(DataType.kDouble, fill), _merged_sum, None, None, apply, 10)


def _log_softmax_backward(make: _Makers) -> Passes:
    T, exp = make.T, make.exp

    def result(y, dy, total, zero):
        return dy - exp(y, zero) * total

    results = make.map(result)

    @separate
    def apply(src0, src1, dst, count, total, _):
        results(src0, src1, dst, count, T(total), T(0))

    return Passes(make.sum(make.data_type), _merged_sum, None, None, apply, 15 if make.single else 50)


_PASSES: Final[dict[type[Primitive], Callable[[_Makers], Passes]]] = {
    Softmax: _softmax,
    LogSoftmax: _log_softmax,
    SoftmaxBackward: _softmax_backward,
    LogSoftmaxBackward: _log_softmax_backward,
}


@cache
def _kernel(interface: type[Primitive], data_type: DataType) -> tuple[int, Passes]:
    passes = _PASSES[interface](_Makers(data_type))
    return row_kernel(f"rows.{interface.__name__}.{data_type.name}", passes, data_type.itemsize), passes


def softmax_entry(
    interface: type[Primitive], signature: Signature, state: LaunchState, data_type: DataType
) -> Callable[..., int]:
    """The entry (state, rows, cols, sources, dst) of one of the four."""
    return row_entry(signature, state, *_kernel(interface, data_type))
