"""Maps of a product's values: each block of c is mapped when its sums are complete, while it is in the caches.

The values are in c if the map writes a result of their type there, and otherwise in memory of the block. A block that
has all columns of c consists of contiguous elements of the map's walk. Any other block has a walk with shorter rows,
and a changed copy of the plan.
"""

from __future__ import annotations

from typing import Final

from ep.common.native.words import load_word, store_word
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import copy_bytes
from ep.cpu.engine.map.strided import OPERAND, STRIDED_PLAN, word_of
from ep.cpu.engine.product.bands import reduce_band
from ep.cpu.engine.product.state import BLOCK, PRODUCT, PRODUCT_LAUNCH, PRODUCT_MAP
from ep.cpu.lines.sizes import LINE
from ep.cpu.shared.context import CONTEXT, CONTEXT_WORDS
from ep.cpu.threads.parallel import call_task
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.primitive.structure import kMaxOperands

_MOST_BYTES: Final = (8 * word_of(kMaxOperands, 0) + LINE - 1) & -LINE
_PLACES_BYTES: Final = (8 * (kMaxOperands + CONTEXT_WORDS) + LINE - 1) & -LINE
_FIRST: Final = word_of(0, 0)
_OPERAND_WORDS: Final = word_of(1, 0) - _FIRST
_STEP, _WALK = _FIRST + OPERAND.step, _FIRST + OPERAND.walk


@jit
def map_block(launch, block, values, step, row, count):
    """Compute the map of rows [row, row + count) of a block, whose values are complete, and reduce a band's windows.

    values: the address of the first value. step: values from row to row; n if rows have all columns of c.
    """
    task = load_word(load_word(launch, PRODUCT_LAUNCH.map), PRODUCT_MAP.map_block)
    call_task(task, launch, block, values, step, row, count)


@jit
def map_elements(launch, values, begin, end):
    """Compute the map of elements [begin, end) of c. values: the address of all values, which are contiguous."""
    call_task(load_word(load_word(launch, PRODUCT_LAUNCH.map), PRODUCT_MAP.map_elements), launch, values, begin, end)


def block_mapper(launch, block, values, step, row, count):
    """Compute what `map_block` describes: the task that it calls."""
    program, product = load_word(launch, PRODUCT_LAUNCH.map), load_word(launch, PRODUCT_LAUNCH.product)
    n, columns = load_word(product, PRODUCT.n), load_word(block, BLOCK.columns)
    if columns == 0 or count == 0:
        return
    first = load_word(block, BLOCK.batch) * load_word(product, PRODUCT.m) + load_word(block, BLOCK.first_row) + row
    itemsize, number = load_word(program, PRODUCT_MAP.itemsize), load_word(program, PRODUCT_MAP.num_operands)
    reduces = load_word(product, PRODUCT.bands) != 0
    if reduces and load_word(program, PRODUCT_MAP.task) == 0:
        reduce_band(launch, block, values, step, row, count)
        return
    of_values, plan = load_word(program, PRODUCT_MAP.values), load_word(program, PRODUCT_MAP.plan)
    memory = thread_memory()
    places, own = take(memory, _PLACES_BYTES), take(memory, _MOST_BYTES)
    context = places + 8 * kMaxOperands
    copy_bytes(places, load_word(launch, PRODUCT_LAUNCH.places), 8 * number)
    if load_word(program, PRODUCT_MAP.in_parts) == 0:
        columns = n
    else:
        copy_bytes(own, plan, 8 * (_FIRST + _OPERAND_WORDS * number))
        plan, first_column = own, load_word(block, BLOCK.first_column)
        store_word(plan, STRIDED_PLAN.inner, columns)
        for k in range(number):
            moved = first_column * load_word(program, PRODUCT_MAP.steps + k)
            store_word(places, k, load_word(places, k) + moved)
        apart = step * itemsize
        for axis in range(load_word(plan, STRIDED_PLAN.num_outer) - 1, -1, -1):
            store_word(plan, _WALK + _OPERAND_WORDS * of_values + axis, apart)
            if reduces:
                store_word(plan, _WALK + axis, apart)
            apart *= load_word(plan, STRIDED_PLAN.dims + axis)
    store_word(places, of_values, values - first * step * itemsize)
    if reduces:  # the map's result replaces the values
        store_word(places, 0, values - first * step * itemsize)
    _call(context, program, plan, places, first * columns, (first + count) * columns)
    give_back(memory, places)
    if reduces:
        reduce_band(launch, block, values, step, row, count)


def element_mapper(launch, values, begin, end):
    """Compute what `map_elements` describes: the task that it calls."""
    program = load_word(launch, PRODUCT_LAUNCH.map)
    memory = thread_memory()
    places = take(memory, _PLACES_BYTES)
    context = places + 8 * kMaxOperands
    copy_bytes(places, load_word(launch, PRODUCT_LAUNCH.places), 8 * load_word(program, PRODUCT_MAP.num_operands))
    store_word(places, load_word(program, PRODUCT_MAP.values), values)
    _call(context, program, load_word(program, PRODUCT_MAP.plan), places, begin, end)
    give_back(memory, places)


@jit
def _call(context, program, plan, places, begin, end):
    store_word(context, CONTEXT.dst, load_word(places, 0))
    store_word(context, CONTEXT.plan, plan)
    store_word(context, CONTEXT.sources, places)
    call_task(load_word(program, PRODUCT_MAP.task), context, begin, end)
