"""OneHot, by the type of its indices and the size of its elements: each block of out is filled, then marked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from ep.common.primitive.class_range import MAX_CLASS
from ep.common.primitive.signature import Signature
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import load_word, stack_words, store_word, store_words, unit_functions
from ep.cpu.engine.context import CONTEXT, SOURCE_WORDS
from ep.cpu.engine.entry import entry
from ep.cpu.engine.layout import layout
from ep.cpu.engine.move.byte_rows import row_filler
from ep.cpu.engine.move.gather_rows import row_finder
from ep.cpu.engine.state import GRAIN_BYTES, STATE, LaunchState
from ep.cpu.engine.streaming import run_writing
from ep.include.data_type import DataType

_CLASSES: Final = layout("Classes", depth=1, lower_bound=1)
"""The classes that a row of out is for: the plan of a launch."""
_CLASSES_WORDS: Final[int] = _CLASSES.num_words

_BLOCK_BYTES: Final = 4096  # of out, which stay in the first cache until they are marked
_ROW_COST: Final = 40  # what a mark costs, in bytes that could be written meanwhile

_INDICES, _ON, _OFF = (CONTEXT.sources + SOURCE_WORDS * number for number in range(3))


def one_hot_entry(
    signature: Signature, state: LaunchState, indices_type: DataType, out_type: DataType
) -> Callable[..., int]:
    """The entry (state, num_indices, depth, lower_bound, indices, out, on_value, off_value)."""
    state.set(task=_task(indices_type, out_type.itemsize))
    return entry("one_hot", signature, STATE, _launch)


@jit
def _launch(context, num_bytes, in_place, sizes):
    _, depth, lower_bound = sizes
    if not -MAX_CLASS <= lower_bound <= MAX_CLASS:
        return 1
    state, size = load_word(context, CONTEXT.state), load_word(context, CONTEXT.dst_size)
    classes = stack_words(_CLASSES_WORDS)
    store_words(classes, depth, lower_bound)
    store_word(context, CONTEXT.plan, classes)
    grain = max(GRAIN_BYTES * depth // (depth * size + _ROW_COST), 1)
    return run_writing(
        context, load_word(state, STATE.task), load_word(context, CONTEXT.dst_count), size, num_bytes, grain
    )


@cache
def _task(indices_type: DataType, size: int) -> int:
    """The address of the task (context, begin, end) that writes elements of out."""
    fill_row, find, unsigned = row_filler(size), row_finder(indices_type), indices_type.dtype.kind == "u"
    copy_unit, block = unit_functions(size)[0], _BLOCK_BYTES // size

    @jit
    def mark(context, begin, end, depth, low, num_valid, first):
        """Write the on_value where it belongs in [begin, end)."""
        indices, out, on = load_word(context, _INDICES), load_word(context, CONTEXT.dst), load_word(context, _ON)
        row = begin // depth
        place = row * depth
        while place < end:
            column, valid = find(indices, row, low, num_valid, first)
            if valid and begin <= place + column < end:
                copy_unit(out, place + column, on, 0)
            row += 1
            place += depth

    def one_hot(context, begin, end):
        classes, off = load_word(context, CONTEXT.plan), load_word(context, _OFF)
        depth, lower_bound = load_word(classes, _CLASSES.depth), load_word(classes, _CLASSES.lower_bound)
        # no index without a sign is below 0
        low = max(lower_bound, 0) if unsigned else lower_bound
        first = low - lower_bound
        num_valid = max(depth - first, 0)
        while begin < end:
            stop = min(begin + block, end)
            fill_row(load_word(context, CONTEXT.dst) + begin * size, (stop - begin) * size, off)
            mark(context, begin, stop, depth, low, num_valid, first)
            begin = stop

    return compile_task(f"one_hot.{indices_type.name}.{size}", one_hot)
