"""sin, cos and tan of arguments beyond the limits of the vectorised functions: tasks that all kernels share."""

from collections.abc import Callable
from functools import cache
from math import inf
from typing import Any

import numpy as np

from ep.common.native.fields import real, word
from ep.common.native.record import Record
from ep.cpu.compile.jit import jit
from ep.cpu.compile.linked import linked
from ep.cpu.compile.memory import loader, storer
from ep.cpu.vector_math.bits import fabs, from_bits, select, to_bits
from ep.cpu.vector_math.large_arguments import reduce_large
from ep.cpu.vector_math.sets.beyond_buffer import MOST, WHICH, BeyondLimit
from ep.cpu.vector_math.single.trigonometric import LIMIT as SINGLE_LIMIT
from ep.cpu.vector_math.trigonometric import LIMIT, cosine_at, sine_at, tangent_at
from ep.cpu.vector_math.widened_trigonometric import sin_cos_or_tan
from ep.include.data_type import DataType


class _Reduced(Record):
    """An argument as the linked `_reduce` writes it: the results of `reduce_large`."""

    r = real()
    rest = real()
    k = word()


def _reduce(x_bits: int, reduced: _Reduced) -> None:
    reduced.r, reduced.rest, reduced.k = reduce_large(from_bits(x_bits))


@cache
def _reduction() -> Any:
    """Return the linked `_reduce`, which compiled code calls with the bits of x and a `_Reduced`."""
    return linked("reduce_large", _reduce, 2)


@cache
def functions_of_any() -> dict[str, Any]:
    """Return scalar functions, float64 to float64, of every argument of at least 1. They share the reduction."""
    reduce_exactly = _reduction()

    def of_any(at: Callable[[float, float, int], float]) -> Any:
        @jit
        def function(x: float) -> float:
            if not fabs(x) < inf:
                return x - x
            reduced = _Reduced.on_stack()
            reduce_exactly(to_bits(x), reduced)
            return at(reduced.r, reduced.rest, reduced.k)

        return function

    return {"sin": of_any(sine_at), "cos": of_any(cosine_at), "tan": of_any(tangent_at)}


@cache
def single_functions_of_any() -> dict[str, Any]:
    """Return scalar functions, float64 to float64, of every argument, accurate for float32 like `_replace_single`."""
    reduce_exactly = _reduction()

    def of_any(which: int) -> Any:
        @jit
        def function(x: float) -> float:
            k = 0
            if not fabs(x) <= LIMIT:
                if fabs(x) < inf:
                    reduced = _Reduced.on_stack()
                    reduce_exactly(to_bits(x), reduced)
                    x, k = reduced.r, reduced.k
                else:
                    x = x - x
            return sin_cos_or_tan(which, x, k)

        return function

    return {name: of_any(which) for name, which in WHICH.items()}


@jit
def _replace_single(which: int, buffer: BeyondLimit) -> None:
    """Replace the values of the buffer by their sines, cosines or tangents, accurate for float32."""
    for i in range(buffer.count):
        x, k = buffer.values[i], 0
        if not fabs(x) <= LIMIT:
            r = x - x
            if fabs(x) < inf:
                r, _, k = reduce_large(x)
            buffer.values[i] = r
        buffer.quarters[i] = k
    for i in range(buffer.count):
        buffer.values[i] = sin_cos_or_tan(which, buffer.values[i], buffer.quarters[i])


@jit
def _replace_double(which: int, buffer: BeyondLimit) -> None:
    """Do the same as `_replace_single`, accurate for float64."""
    for i in range(buffer.count):
        x = buffer.values[i]
        y = x - x
        if fabs(x) < inf:
            r, rest, k = reduce_large(x)
            y = tangent_at(r, rest, k) if which == 2 else sine_at(r, rest, k + which)
        buffer.values[i] = y


@cache
def beyond_limit(data_type: DataType) -> Any:
    """Return the compiled functions (compute, put_back) for elements of `data_type` beyond their functions' limit.

    compute(which, src, begin, end, buffer): counts the elements of [begin, stop) beyond the limit, and computes their
    values of the function with number `which` in WHICH; stop is `end` if there are none. put_back(dst, buffer): writes
    the results, if any.
    """
    load, store = loader(data_type), storer(data_type)
    double = data_type is DataType.kDouble
    limit, replace = (LIMIT, _replace_double) if double else (SINGLE_LIMIT, _replace_single)
    T = np.float64 if double else np.float32

    def compute(which: int, src: int, begin: int, end: int, buffer: BeyondLimit) -> None:
        found, count = False, 0
        for i in range(begin, end):
            found |= fabs(load(src, i)) > limit
        stop = min(begin + MOST, end) if found else end
        if found:
            for i in range(begin, stop):
                x = np.float64(load(src, i))
                buffer.values[count] = x
                buffer.indices[count] = i
                count += select(fabs(x) > limit, 1, 0)
        buffer.count = count
        buffer.stop = stop
        replace(which, buffer)

    def put_back(dst: int, buffer: BeyondLimit) -> None:
        for i in range(buffer.count):
            store(dst, buffer.indices[i], T(buffer.values[i]))

    return (
        linked(f"beyond_limit.{data_type.name}", compute, 5),
        linked(f"put_back.{data_type.name}", put_back, 2),
    )
