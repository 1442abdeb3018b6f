"""The accumulators of a reduction: the type of its states, and their functions."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import numpy as np

from ep.common.functor.math_library import Function, MathLibrary, Scalar, ScalarType
from ep.common.functor.reduction import State, States, exact_sum, reduction_of, states
from ep.common.stored_types import carried_as
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.math_library import cuda_math_library
from ep.include.data_type import DataType, as_data_type
from ep.include.number_kind import Kind, number_kind
from ep.include.primitive.reduce_op import SUMS, ReduceOp


class Accumulator(NamedTuple):
    """A reduction of elements of one type. scalar_type: the type of the numbers of a state; storage: their data type in
    memory."""

    name: str
    states: States
    scalar_type: ScalarType

    @property
    def storage(self) -> DataType:
        """The data type that numbers of a state have in memory."""
        return as_data_type(np.dtype(self.scalar_type), "state")


@cache
def accumulator(op: ReduceOp, src_type: DataType) -> Accumulator:
    """Return the accumulator of `op` on elements of `src_type`; sums of float64 carry their rounding errors along."""
    kind = number_kind(src_type)
    scalar_type = _scalar_type(op, src_type, kind)
    library, wide = cuda_math_library(scalar_type), src_type is DataType.kDouble
    if op is ReduceOp.kMean and wide:
        functions = States(4, *map(library.use, (_nothing, _add_apart, _merge_apart, _mean_apart)))
    else:
        functions = states(reduction_of(op, kind), library, compensated=op in SUMS and wide)
    return Accumulator(f"{op.name}.{src_type.name}", functions, scalar_type)


def _scalar_type(op: ReduceOp, src_type: DataType, kind: Kind) -> ScalarType:
    if kind in (Kind.BOOL, Kind.INTEGER):
        signed, wide = src_type.dtype.kind == "i", src_type.itemsize == 8
        return (np.int64 if wide else np.int32) if signed else (np.uint64 if wide else np.uint32)
    if carried_as(op, src_type) is DataType.kDouble:
        return np.complex128 if kind is Kind.COMPLEX else np.float64
    return storage_arithmetic(src_type)


# The mean of float64: its sum may overflow. Large numbers are scaled down and added separately.

_LARGE: Final = 2.0**900
_SCALE: Final = 2.0**-128


def _nothing(m: MathLibrary) -> Function:
    zero = m.T(0)

    def f() -> State:
        return zero, zero, zero, zero

    return f


def _add_apart(m: MathLibrary) -> Function:
    T, exact, large, scale = m.T, m.use(exact_sum), m.T(_LARGE), m.T(_SCALE)

    def f(state: State, x: Scalar) -> State:
        number = T(x)
        if abs(number) >= large:
            total, error = exact(state[2], number * scale)
            return state[0], state[1], total, state[3] + error
        total, error = exact(state[0], number)
        return total, state[1] + error, state[2], state[3]

    return f


def _merge_apart(m: MathLibrary) -> Function:
    exact = m.use(exact_sum)

    def f(a: State, b: State) -> State:
        total, error = exact(a[0], b[0])
        large, large_error = exact(a[2], b[2])
        return total, (a[1] + b[1]) + error, large, (a[3] + b[3]) + large_error

    return f


def _mean_apart(m: MathLibrary) -> Function:
    T, scale = m.T, m.T(_SCALE)

    def f(state: State, count: int) -> Scalar:
        total = state[0] if state[1] != state[1] else state[0] + state[1]
        large = state[2] if state[3] != state[3] else state[2] + state[3]
        return total / T(count) + large / T(count) / scale

    return f
