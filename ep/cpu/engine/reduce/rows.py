"""The task that reduces rows, made of functions: one for each reduction."""

from __future__ import annotations

from typing import Final

import numpy as np

from ep.common.functor.math_library import MathLibrary
from ep.common.functor.reduction import Reduction
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import load_float64, load_word, loader, stack_words, storer
from ep.cpu.engine.reduce.state import BLOCK, MAX_SEGMENTS, REDUCE, segment_length
from ep.include.data_type import DataType

_LANES: Final = 256
_LEVELS: Final = 64
_FEW: Final = 16  # elements that are combined one after the other

_segment_length = jit(segment_length)


Accumulator = type[np.float64] | type[np.int64]
"""The type in which elements are combined. Whole numbers wrap around."""


def accumulator_of(data_type: DataType) -> Accumulator:
    """What elements of a real type are combined in."""
    return np.int64 if data_type.dtype.kind in "iub" else np.float64


def reduce_kernel(reduction: Reduction, src_type: DataType, dst_type: DataType) -> int:
    """The address of the task (context by REDUCE, begin, end) that reduces.

    It reduces rows [begin, end) where the context has no partials, else segments [begin, end) of one row to these. An
    empty range combines the partials.
    """
    number = accumulator_of(src_type)
    library = MathLibrary(number, {}, jit)
    before, combine, after = (library.use(each) for each in (reduction.before, reduction.combine, reduction.after))
    load, store = loader(src_type), storer(dst_type)
    # Stores are marked as apart from what `load` reads, and loads of accumulators are not: they meet the stores.
    store_value = storer(DataType.kDouble if number is np.float64 else DataType.kInt64)
    load_value = load_float64 if number is np.float64 else load_word

    @jit
    def fold(values, width):
        """Combine values, the upper half with the lower one, until one is left, which is returned."""
        while width > 1:
            half = (width + 1) // 2
            for lane in range(width - half):
                store_value(values, lane, combine(load_value(values, lane), load_value(values, lane + half)))
            width = half
        return load_value(values, 0)

    @jit
    def reduce_block(src, begin, end, lanes):
        if end - begin <= _FEW:
            value = before(number(load(src, begin)))
            for i in range(begin + 1, end):
                value = combine(value, before(number(load(src, i))))
            return value
        width = min(end - begin, _LANES)
        for lane in range(width):
            store_value(lanes, lane, before(number(load(src, begin + lane))))
        while begin + _LANES < end:
            begin += _LANES
            for lane in range(min(end - begin, _LANES)):
                value = before(number(load(src, begin + lane)))
                store_value(lanes, lane, combine(load_value(lanes, lane), value))
        return fold(lanes, width)

    @jit
    def reduce_segment(src, begin, end, lanes, levels):
        """Combine blocks as a binary counter does: at level n there is the value of 2^n of them, or none."""
        blocks = 0
        while begin < end:
            value = reduce_block(src, begin, min(begin + BLOCK, end), lanes)
            level = 0
            while (blocks >> level) & 1 != 0:
                value = combine(load_value(levels, level), value)
                level += 1
            store_value(levels, level, value)
            blocks += 1
            begin += BLOCK
        level = 0
        while (blocks >> level) & 1 == 0:
            level += 1
        value = load_value(levels, level)
        for higher in range(level + 1, _LEVELS):
            if (blocks >> higher) & 1 != 0:
                value = combine(load_value(levels, higher), value)
        return value

    @jit
    def reduce_segments(src, cols, first, last, partials):
        length, lanes, levels = _segment_length(cols), stack_words(_LANES), stack_words(_LEVELS)
        for segment in range(first, last):
            begin = segment * length
            store_value(partials, segment, reduce_segment(src, begin, min(begin + length, cols), lanes, levels))

    def reduce_rows(context, begin, end):
        src, dst, cols = load_word(context, REDUCE.src), load_word(context, REDUCE.dst), load_word(context, REDUCE.cols)
        partials, row = load_word(context, REDUCE.partials), load_word(context, REDUCE.row)
        length, own = _segment_length(cols), stack_words(MAX_SEGMENTS)
        segments, row_bytes = (cols + length - 1) // length, cols * src_size
        if partials != 0 and begin < end:
            reduce_segments(src + row * row_bytes, cols, begin, end, partials)
            return
        if partials != 0:
            store(dst, row, after(fold(partials, segments), cols))
            return
        for i in range(begin, end):
            reduce_segments(src + i * row_bytes, cols, 0, segments, own)
            store(dst, i, after(fold(own, segments), cols))

    src_size = src_type.itemsize
    return compile_task(f"reduce.{reduction.name}.{src_type.name}.{dst_type.name}", reduce_rows)
