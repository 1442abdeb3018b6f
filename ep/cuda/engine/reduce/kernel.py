"""The engine of reductions: all elements along some axes become one value.

If the last axis is reduced, neighbouring threads share a row of it, and merge their states by shuffles and through
shared memory. If it is kept, each thread has separate results, and threads of a block that share results merge through
shared memory. If this would not fill a GPU, blocks have parts of the values, and a second kernel merges the parts.
Elements are loaded, or computed as they are read: see `source`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.kernel_words import Words, num_walk_words
from ep.cuda.compile.launch_config import BLOCK_THREADS, PACK_BYTES
from ep.cuda.compile.memory import storer
from ep.cuda.compile.numba_cuda import (
    barrier,
    block_of_grid,
    blocks_of_grid,
    device_function,
    next_index,
    shared_array,
    thread_of_block,
)
from ep.cuda.compile.walk import walk
from ep.cuda.engine.reduce.accumulator import Accumulator, accumulator
from ep.cuda.engine.reduce.merge import merger
from ep.cuda.engine.reduce.plan import Axes, ColumnVariant, FinishVariant, ReadWords, RowVariant
from ep.cuda.engine.reduce.source import Computed, Source, source
from ep.cuda.engine.reduce.state_memory import state_loader, state_storer
from ep.include.data_type import DataType
from ep.include.primitive.reduce_op import ReduceOp


def kernel(
    op: ReduceOp, src_type: DataType, dst_type: DataType, variant: Any, computed: Computed | None = None
) -> KernelSource:
    """Return the kernel of a variant, for elements of `src_type` and values of `dst_type`.

    computed: the function that computes elements, if any.
    """
    if isinstance(variant, FinishVariant):
        return _finish(op, src_type, dst_type, variant)
    make: Any = _rows if isinstance(variant, RowVariant) else _columns
    return make(op, src_type, dst_type, variant, computed)  # type: ignore[no-any-return]


@cache
def _rows(
    op: ReduceOp, src_type: DataType, dst_type: DataType, variant: RowVariant, computed: Computed | None
) -> KernelSource:
    """The kernel (dst, results, packs, packs of a part, rest, count, read): dst[n] is what the
    packs of result n become, with `rest` elements after them. In a grid of several rows of blocks each has a part."""
    axes, elements, aligned, row_threads, partial, _ = variant
    work, rows_per_block = accumulator(op, src_type), BLOCK_THREADS // row_threads
    given = source(computed, src_type, elements, aligned)
    _, _, prepare, begin_at, load, load_one, *_ = given
    at_once = _loads_at_once(given, elements * src_type.itemsize, 2)
    empty, add_one, (kept, reduced, lengths) = work.states.empty, work.states.add, _walks(given, axes)
    add, merge_threads = _add_pack(add_one, elements), _merger(work, row_threads)
    add_several = _several(load, reduced, add, row_threads, at_once)
    finish = _finisher(work, dst_type, partial)

    def reduce_rows(
        dst: int, results: int, packs: int, part_packs: int, rest: int, count: int, read: ReadWords
    ) -> None:
        thread, part, parts = thread_of_block(), block_of_grid()[1], blocks_of_grid()[1]
        lane, first = thread % row_threads, block_of_grid()[0] * rows_per_block
        end = min((part + 1) * part_packs, packs)
        elements_of, walk_words, kept_words, reduced_words = prepare(read.source), read.walk, read.kept, read.reduced
        while first < results:  # all threads of the block together: they meet at barriers
            n = first + thread // row_threads
            state = empty()
            if n < results:
                begin, i = begin_at(elements_of, kept(n, kept_words)[0]), part * part_packs + lane
                while at_once > 1 and i + (at_once - 1) * row_threads < end:
                    state = add_several(state, begin, i, reduced_words, walk_words)
                    i = next_index(i, at_once * row_threads)
                while i < end:
                    state = add(state, load(begin, reduced(i, reduced_words)[0], walk_words))
                    i = next_index(i, row_threads)
                if lane == 0 and end == packs:
                    for last in range(packs * elements, packs * elements + rest):
                        state = add_one(state, load_one(begin, last, walk_words)[0])
            state = merge_threads(state, thread)
            if lane == 0 and n < results:
                finish(dst, n, part, parts, results, state, count)
            first += blocks_of_grid()[0] * rows_per_block

    how = f"{axes.kept}.{axes.reduced}.{axes.bits}.{elements}.{aligned:d}.{row_threads}.{partial:d}"
    name = f"reduce_rows.{work.name}.{dst_type.name}.{how}{_of(given)}"
    return KernelSource(name, reduce_rows, lengths, is_contracted=computed is not None)


@cache
def _columns(
    op: ReduceOp, src_type: DataType, dst_type: DataType, variant: ColumnVariant, computed: Computed | None
) -> KernelSource:
    """Return the kernel (dst, packs, number, number of a part, count, read): the `packs` packs of
    results, each of `number` packs of elements. In a grid of several rows of blocks each has a part."""
    axes, elements, aligned, sharers, partial, _ = variant
    work, width = accumulator(op, src_type), BLOCK_THREADS // sharers
    given = source(computed, src_type, elements, aligned)
    _, _, prepare, begin_at, load, *_ = given
    at_once = _loads_at_once(given, elements * src_type.itemsize, 4)
    kept, reduced, lengths = _walks(given, axes)
    nothing, add = _states(work, elements), _add_each(work.states.add, elements)
    add_several = _several(load, reduced, add, sharers, at_once)
    merge_threads = _shared_merger(work, elements, sharers)
    finish = _each_finisher(_finisher(work, dst_type, partial), elements)

    def reduce_columns(dst: int, packs: int, number: int, part_number: int, count: int, read: ReadWords) -> None:
        thread, part, parts = thread_of_block(), block_of_grid()[1], blocks_of_grid()[1]
        column, sharer, first = thread % width, thread // width, block_of_grid()[0] * width
        end = min((part + 1) * part_number, number)
        elements_of, walk_words, kept_words, reduced_words = prepare(read.source), read.walk, read.kept, read.reduced
        while first < packs:  # all threads of the block together: they meet at barriers
            q = first + column
            states = nothing()
            if q < packs:
                begin, i = begin_at(elements_of, kept(q, kept_words)[0]), part * part_number + sharer
                while at_once > 1 and i + (at_once - 1) * sharers < end:
                    states = add_several(states, begin, i, reduced_words, walk_words)
                    i = next_index(i, at_once * sharers)
                while i < end:
                    states = add(states, load(begin, reduced(i, reduced_words)[0], walk_words))
                    i = next_index(i, sharers)
            states = merge_threads(states, thread, sharer)
            if sharer == 0 and q < packs:
                finish(dst, q * elements, part, parts, packs * elements, states, count)
            first += blocks_of_grid()[0] * width

    how = f"{axes.kept}.{axes.reduced}.{axes.bits}.{elements}.{aligned:d}.{sharers}.{partial:d}"
    name = f"reduce_columns.{work.name}.{dst_type.name}.{how}{_of(given)}"
    return KernelSource(name, reduce_columns, lengths, is_contracted=computed is not None)


@cache
def _finish(op: ReduceOp, src_type: DataType, dst_type: DataType, variant: FinishVariant) -> KernelSource:
    """The kernel (states, dst, results, parts, count): dst[n] is the value of the states of the parts of result n."""
    work, (row_threads,) = accumulator(op, src_type), variant
    empty, merge, value = work.states.empty, work.states.merge, work.states.value
    load, merge_threads, store = (
        state_loader(work.storage, work.states.num_parts),
        _merger(work, row_threads),
        storer(dst_type, 1),
    )
    rows_per_block = BLOCK_THREADS // row_threads

    def finish_reduction(states: Any, dst: int, results: int, parts: int, count: int) -> None:
        thread = thread_of_block()
        lane, first = thread % row_threads, block_of_grid()[0] * rows_per_block
        while first < results:  # all threads of the block together
            n, i = first + thread // row_threads, lane
            state = empty()
            while n < results and i < parts:
                state = merge(state, load(states, n * parts + i, results * parts))
                i = next_index(i, row_threads)
            state = merge_threads(state, thread)
            if lane == 0 and n < results:
                store(dst, n, (value(state, count),))
            first += blocks_of_grid()[0] * rows_per_block

    return KernelSource(f"reduce_finish.{work.name}.{dst_type.name}.{row_threads}", finish_reduction)


def _walks(given: Source, axes: Axes) -> tuple[Any, Any, tuple[int, int, int, int]]:
    """Return the walks over the axes that stay and over those that go, and the lengths of the tuples of ReadWords."""
    lengths = given.num_words, num_walk_words(axes.kept, 1), num_walk_words(axes.reduced, 1), given.num_walk_words
    return walk(axes.kept, 1, axes.bits), walk(axes.reduced, 1, axes.bits), lengths


def _loads_at_once(given: Source, pack_bytes: int, usual: int) -> int:
    """Return how many packs a thread loads at a time: the usual number, more of packs that are smaller than most."""
    if given.packs < usual:
        return 1
    return min(max(usual, given.packs // 2 * PACK_BYTES // pack_bytes), 8)


def _several(load: Any, reduced: Any, add: Any, apart: int, count: int) -> Any:
    """(state, begin, i, words, walk words) -> the state with packs i, i + `apart`, ..., which are loaded at a time."""

    @written_out(device_function)
    def add_several(state: Any, begin: int, i: int, words: Words, walk_words: Words) -> Any:
        packs = tuple(load(begin, reduced(i + k * apart, words)[0], walk_words) for k in unrolled(range(count)))
        for k in unrolled(range(count)):
            state = add(state, packs[k])
        return state

    return add_several


def _of(given: Source) -> str:
    """Return the end of a kernel's name, which describes the elements that are computed when they are read."""
    return f".of.{given.name}" if given.name else ""


def _merger(work: Accumulator, row_threads: int) -> Any:
    return merger(work.states.merge, work.states.num_parts, work.scalar_type, row_threads, to_all=False)


def _add_pack(add: Any, count: int) -> Any:
    """(state, pack) -> the state with the elements of the pack added one after another."""

    @written_out(device_function)
    def add_pack(state: Any, pack: Any) -> Any:
        for k in unrolled(range(count)):
            state = add(state, pack[k])
        return state

    return add_pack


def _states(work: Accumulator, count: int) -> Any:
    """() -> a tuple of `count` empty states."""
    empty = work.states.empty

    @written_out(device_function)
    def states() -> Any:
        return tuple(empty() for _ in unrolled(range(count)))

    return states


def _add_each(add: Any, count: int) -> Any:
    """(states, pack) -> each state with an element of the pack."""

    @written_out(device_function)
    def add_each(states: Any, pack: Any) -> Any:
        return tuple(add(states[k], pack[k]) for k in unrolled(range(count)))

    return add_each


def _finisher(work: Accumulator, dst_type: DataType, partial: bool) -> Any:
    """(dst, n, part, parts, results, state, count): write the value of result n, or the state of its part."""
    value, store, put = work.states.value, storer(dst_type, 1), state_storer(work.storage, work.states.num_parts)
    if not partial:
        return device_function(lambda dst, n, part, parts, results, state, count: store(dst, n, (value(state, count),)))
    return device_function(
        lambda dst, n, part, parts, results, state, count: put(dst, n * parts + part, results * parts, state)
    )


def _each_finisher(finish: Any, elements: int) -> Any:
    """Return the same for results n, n + 1, ... of several states."""

    @written_out(device_function)
    def finish_each(dst: int, n: int, part: int, parts: int, results: int, states: Any, count: int) -> None:
        for k in unrolled(range(elements)):
            finish(dst, n + k, part, parts, results, states[k], count)

    return finish_each


def _shared_merger(work: Accumulator, elements: int, sharers: int) -> Any:
    """(states, thread, sharer) -> the merged states, in the first of the threads that share results."""
    if sharers == 1:
        return device_function(lambda states, thread, sharer: states)
    numbers = shared_array(work.states.num_parts * elements * BLOCK_THREADS, work.scalar_type)
    merge, (put, get) = _add_each(work.states.merge, elements), _shared_states(work.states.num_parts, elements)
    width = BLOCK_THREADS // sharers

    def merge_shared(states: Any, thread: int, sharer: int) -> Any:
        memory, distance = numbers(), sharers // 2
        put(memory, thread, states)
        barrier()
        while distance > 0:
            if sharer < distance:
                states = merge(states, get(memory, thread + distance * width))
                put(memory, thread, states)
            barrier()
            distance //= 2
        return states

    return device_function(merge_shared)


def _shared_states(num_parts: int, elements: int) -> tuple[Any, Any]:
    """put(memory, thread, states) and get(memory, thread): a row of the block's threads for each number of states."""

    @written_out(device_function)
    def put(memory: Any, thread: int, states: Any) -> None:
        for k in unrolled(range(elements)):
            for part in unrolled(range(num_parts)):
                memory[(k * num_parts + part) * BLOCK_THREADS + thread] = states[k][part]

    @written_out(device_function)
    def get(memory: Any, thread: int) -> Any:
        return tuple(
            tuple(memory[(k * num_parts + part) * BLOCK_THREADS + thread] for part in unrolled(range(num_parts)))
            for k in unrolled(range(elements))
        )

    return put, get
