"""Launches that multiply, and map the values: the task that runs their program."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ep.common.native.fields import Int64
from ep.cpu.compile.compiler import compile_tasks
from ep.cpu.engine.map.strided import StridedLoops
from ep.cpu.engine.product.entry import multiply_shared
from ep.cpu.engine.product.mapped import block_mapper, element_mapper
from ep.cpu.engine.product.state import ProductLaunch, ProductMap
from ep.cpu.shared.context import StridedContext
from ep.cpu.shared.state import State
from ep.include.primitive.structure import kMaxOperands


def _multiply_and_map(context: StridedContext, begin: int, end: int) -> None:
    program = ProductMap.at(StridedLoops.at(context.plan).program)
    arrays, places = Int64.at(context.sources[0].data), Int64.array_on_stack(kMaxOperands)
    num_results, values = program.num_results, program.values
    direct = program.direct
    c = arrays[direct] if direct >= 0 else 0
    for k in range(program.num_operands):
        if k != values:
            place = arrays[program.arrays[k]]
            places[k] = place
            if k >= num_results and place == c:  # the result has the memory of an operand that the map reads
                c = 0
    product = program.product
    reduces = product.bands != 0
    mapped = program if reduces or program.task != 0 else ProductMap.at(0)
    launch = ProductLaunch.on_stack()
    launch.state, launch.product, launch.multiply = program.product_state, product, product.multiply
    launch.a, launch.b, launch.c = arrays[program.a], arrays[program.b], c
    launch.alpha, launch.beta = program.alpha, program.beta
    launch.map, launch.places, launch.apart = mapped, places, 1 if c == 0 else 0
    state, num_values = State.at(context.state), program.num_values
    if multiply_shared(state, launch, num_values, program.work) != 0:
        context.lacks_memory = 1


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
