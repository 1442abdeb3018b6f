"""The entry of a launch that reads any number of operands, all alike, from a tuple."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ep.cpu.compile.compiler import compile_entry
from ep.cpu.compile.memory import load_word, stack_words, store_words
from ep.cpu.compile.ndarray import READABLE, WRITABLE, array_data, index_integer, object_address, word, words
from ep.cpu.engine.entry import clash
from ep.cpu.shared.context import CONTEXT, CONTEXT_WORDS, MAX_SOURCES, NONE, SOURCE_WORDS
from ep.cpu.shared.object_layout import TUPLE_ITEMS, TUPLE_LENGTH
from ep.cpu.shared.state import STATE, TYPE_WORDS


@cache
def entry_of_many(name: str, state: Any, launch: Any) -> Callable[..., int]:
    """The entry (state, count, tuple of arrays that are read, array that is written): see `entry`.

    state: the layout. The signature has two operands of `count` elements: the second is written, in place if need be,
    and the first stands for each of the tuple.
    launch: as in `entry`. The plan of its context is the address of the tuple, and the sources are the first of it.
    """
    src_type, dst_type = state.num_words, state.num_words + TYPE_WORDS

    def entry(state_, count_, srcs_, dst_):
        state, count, srcs = word(state_), word(count_), word(srcs_)
        number, ndarray_type = load_word(srcs + TUPLE_LENGTH, 0), load_word(state, STATE.ndarray_type)
        if count <= 0 or number == 0:
            return 1
        size = load_word(state, dst_type + 1)
        dst = array_data(word(dst_), ndarray_type, load_word(state, dst_type), count, WRITABLE)
        if dst == 0:
            return 1
        context, in_place = stack_words(CONTEXT_WORDS), False
        for k in range(number):
            src = load_word(srcs + TUPLE_ITEMS, k)
            data = array_data(src, ndarray_type, load_word(state, src_type), count, READABLE)
            if data == 0 or clash(dst, count, size, data, count, size, True):
                return 1
            in_place |= data == dst
            if k < MAX_SOURCES:
                store_words(context + 8 * (CONTEXT.sources + SOURCE_WORDS * k), data, count, size)
        store_words(context, dst, state, srcs, NONE, count, size, min(number, MAX_SOURCES))
        return launch(context, (number + 1) * count * size, in_place, (count,))

    return compile_entry(name, entry, (words, index_integer, object_address, object_address))
