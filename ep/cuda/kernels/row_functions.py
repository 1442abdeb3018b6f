"""The functions with which threads that share a row of an expression compute one number, and those of its softmaxes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.functor.math_library import ScalarType
from ep.common.functor.reduction import States
from ep.common.loops import unrolled, written_out
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.conversion import opaque
from ep.cuda.compile.launch_config import WARP_THREADS
from ep.cuda.compile.math_library import higher
from ep.cuda.compile.memory import SHARED, loader, storer
from ep.cuda.compile.numba_cuda import barrier, device_function, shuffle_xor
from ep.cuda.engine.reduce.accumulator import accumulator
from ep.cuda.engine.reduce.merge import merge_memory, merger
from ep.cuda.engine.reduce.row_passes import row_sums
from ep.cuda.kernels.softmax import log_softmax, log_softmax_backward, softmax, softmax_backward
from ep.include.data_type import DataType, as_data_type
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import RowOp

_FUNCTIONS: Final = {
    RowOp.kSoftmax: softmax,
    RowOp.kLogSoftmax: log_softmax,
    RowOp.kSoftmaxBackward: softmax_backward,
    RowOp.kLogSoftmaxBackward: log_softmax_backward,
}


@cache
def merged(op: ReduceOp, data_type: DataType, threads: int) -> Any:
    """(state, thread) -> the state of a row, of a reduction of elements of `data_type`."""
    work = accumulator(op, data_type)
    return merger(work.states.merge, work.states.num_parts, work.scalar_type, threads, to_all=True)


@cache
def merged_tops(scalar_type: ScalarType, threads: int) -> Any:
    """(state, thread) -> the maximum of a row, as a state."""

    larger = higher(scalar_type)
    return merger(device_function(lambda a, b: (larger(a[0], b[0]),)), 1, scalar_type, threads, to_all=True)


@cache
def merged_sums(sums: States, threads: int) -> Any:
    """(state, thread) -> the sum of a row."""
    return merger(sums.merge, sums.num_parts, np.float64, threads, to_all=True)


class SoftmaxParts(NamedTuple):
    """The functions of a softmax, or of the gradient of one, as the primitive has them.

    sums: those of the terms. keep(x, top): what is kept of an element, its exponential or itself; term(kept, top): its
    term. scale(sum) -> a number for the row. result(kept, top, number). A gradient has an element of each of its
    operands, the result of the softmax and the gradient with respect to it, in place of `kept` and `top`.
    """

    sums: States
    keep: Any
    term: Any
    scale: Any
    result: Any


@cache
def softmax_parts(op: RowOp, data_type: DataType) -> SoftmaxParts:
    """Return the functions of a softmax of elements of `data_type`, or of its gradient."""
    function = _FUNCTIONS[op](data_type)
    if op.is_gradient:
        of_two, from_two = device_function(function.term), device_function(function.result)
        return SoftmaxParts(
            row_sums(data_type),
            None,
            device_function(lambda y, dy: of_two((opaque(y), opaque(dy)), 0)),
            device_function(function.scale),
            device_function(lambda y, dy, number: from_two((opaque(y), opaque(dy)), 0, number)),
        )
    keep = device_function(function.keep or (lambda e, top: e))
    term, result = device_function(function.term), device_function(function.result)
    return SoftmaxParts(
        row_sums(data_type),
        device_function(lambda x, top: keep((opaque(x),), top)[0]),
        device_function(lambda kept, top: term((kept,), top)),
        device_function(function.scale),
        device_function(lambda kept, top, number: result((kept,), top, number)),
    )


@cache
def of_first(data_type: DataType, threads: int, row_threads: int) -> Callable[..., Any]:
    """(number, thread) -> the number of the first thread of a row, which has the bits of Reduce, in all `row_threads`.

    threads: those from the first on that have merged their states.
    """
    if threads < row_threads > WARP_THREADS:
        stored = as_data_type(np.dtype(storage_arithmetic(data_type)))
        load, store = loader(stored, 1, space=SHARED), storer(stored, 1, space=SHARED)

        def share(number: int, thread: int) -> Any:
            memory, row = merge_memory(), thread // row_threads
            if thread % row_threads == 0:
                store(memory, row, (number,))
            barrier()
            number = load(memory, row)[0]
            barrier()
            return number

        return device_function(share)
    # several warps have it already
    masks = tuple(1 << k for k in range(row_threads.bit_length() - 1)) if row_threads <= WARP_THREADS else ()

    @written_out(device_function)
    def first(number: int, thread: int) -> Any:
        for mask in unrolled(masks):
            other = shuffle_xor(number, mask)
            number = other if thread & mask else number
        return number

    return first
