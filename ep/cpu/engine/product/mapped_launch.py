"""Launches that multiply, and map the values: the task that runs their program."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ep.common.native.words import load_word, stack_words, store_word, store_words
from ep.cpu.compile.compiler import compile_tasks
from ep.cpu.engine.map.strided import STRIDED, STRIDED_PLAN
from ep.cpu.engine.product.entry import multiply_shared
from ep.cpu.engine.product.mapped import block_mapper, element_mapper
from ep.cpu.engine.product.state import PRODUCT, PRODUCT_LAUNCH_WORDS, PRODUCT_MAP
from ep.cpu.shared.context import CONTEXT
from ep.include.primitive.structure import kMaxOperands


def _multiply_and_map(context, begin, end):
    program = load_word(load_word(context, CONTEXT.plan), STRIDED_PLAN.program)
    arrays, places = load_word(context, CONTEXT.sources), stack_words(kMaxOperands)
    num_results, values = load_word(program, PRODUCT_MAP.num_results), load_word(program, PRODUCT_MAP.values)
    direct = load_word(program, PRODUCT_MAP.direct)
    c = load_word(arrays, direct) if direct >= 0 else 0
    for k in range(load_word(program, PRODUCT_MAP.num_operands)):
        if k != values:
            place = load_word(arrays, load_word(program, PRODUCT_MAP.arrays + k))
            store_word(places, k, place)
            if k >= num_results and place == c:  # the result has the memory of an operand that the map reads
                c = 0
    product = load_word(program, PRODUCT_MAP.product)
    reduces = load_word(product, PRODUCT.bands) != 0
    mapped = program if reduces or load_word(program, PRODUCT_MAP.task) != 0 else 0
    launch = stack_words(PRODUCT_LAUNCH_WORDS)
    store_words(
        launch,
        load_word(program, PRODUCT_MAP.product_state),
        product,
        load_word(product, PRODUCT.multiply),
        load_word(arrays, load_word(program, PRODUCT_MAP.a)),
        load_word(arrays, load_word(program, PRODUCT_MAP.b)),
        c,
        load_word(program, PRODUCT_MAP.alpha),
        load_word(program, PRODUCT_MAP.beta),
        0,
        0,
        mapped,
        places,
        1 if c == 0 else 0,
        0,
    )
    state, num_values = load_word(context, CONTEXT.state), load_word(program, PRODUCT_MAP.num_values)
    if multiply_shared(state, launch, num_values, load_word(program, PRODUCT_MAP.work)) != 0:
        store_word(context, STRIDED.lacks_memory, 1)


class MappedTasks(NamedTuple):
    """The addresses of the tasks of products that are mapped."""

    multiply_and_map: int
    """(context, 0, 1): runs the plan's program on all threads."""
    map_block: int
    map_elements: int


@cache
def mapped_product_tasks() -> MappedTasks:
    """Return the tasks of all products that are mapped, whatever their types."""
    return MappedTasks(*compile_tasks("product.mapped", _multiply_and_map, block_mapper, element_mapper))
