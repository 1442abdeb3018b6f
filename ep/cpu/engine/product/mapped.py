"""Maps of a product's values: each block of c is mapped when its sums are complete, while it is in the caches.

The values are in c if the map writes a result of their type there, and otherwise in memory of the block. A block that
has all columns of c consists of contiguous elements of the map's walk. Any other block has a walk with shorter rows,
and a changed copy of the plan.
"""

from __future__ import annotations

from typing import Final

from ep.common.native.fields import Int64
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import copy_bytes
from ep.cpu.engine.map.strided import StridedLoops, operands_of, word_of
from ep.cpu.engine.product.bands import reduce_band
from ep.cpu.engine.product.state import ProductBlock, ProductLaunch, ProductMap
from ep.cpu.lines.sizes import LINE
from ep.cpu.shared.context import Context
from ep.cpu.threads.parallel import call_task
from ep.cpu.threads.scratch import give_back, take, thread_memory
from ep.include.primitive.structure import kMaxOperands

_MOST_BYTES: Final = (8 * word_of(kMaxOperands, 0) + LINE - 1) & -LINE
_PLACES_BYTES: Final = (8 * (kMaxOperands + Context.num_words) + LINE - 1) & -LINE


@jit
def map_block(launch: ProductLaunch, block: int, values: int, step: int, row: int, count: int) -> None:
    """Compute the map of rows [row, row + count) of a block, whose values are complete, and reduce a band's windows.

    values: the address of the first value. step: values from row to row; n if rows have all columns of c.
    """
    task = launch.map.map_block
    call_task(task, launch, block, values, step, row, count)


@jit
def map_elements(launch: ProductLaunch, values: int, begin: int, end: int) -> None:
    """Compute the map of elements [begin, end) of c. values: the address of all values, which are contiguous."""
    call_task(launch.map.map_elements, launch, values, begin, end)


def block_mapper(launch: ProductLaunch, block: ProductBlock, values: int, step: int, row: int, count: int) -> None:
    """Compute what `map_block` describes: the task that it calls."""
    program, product = launch.map, launch.product
    n, columns = product.n, block.columns
    if columns == 0 or count == 0:
        return
    first = block.batch * product.m + block.first_row + row
    itemsize, number = program.itemsize, program.num_operands
    reduces = product.bands != 0
    if reduces and program.task == 0:
        reduce_band(launch, block, values, step, row, count)
        return
    of_values, plan = program.values, StridedLoops.at(program.plan)
    memory = thread_memory()
    places, own = Int64.at(take(memory, _PLACES_BYTES)), take(memory, _MOST_BYTES)
    context = Context.at(places + 8 * kMaxOperands)
    copy_bytes(places, launch.places, 8 * number)
    if program.in_parts == 0:
        columns = n
    else:
        copy_bytes(own, plan, operands_of(plan)[number] - plan)
        plan, first_column = StridedLoops.at(own), block.first_column
        operands = operands_of(plan)
        plan.inner = columns
        for k in range(number):
            moved = first_column * program.steps[k]
            places[k] += moved
        apart = step * itemsize
        for axis in range(plan.num_outer - 1, -1, -1):
            operands[of_values].walk[axis] = apart
            if reduces:
                operands[0].walk[axis] = apart
            apart *= plan.dims[axis]
    places[of_values] = values - first * step * itemsize
    if reduces:  # the map's result replaces the values
        places[0] = values - first * step * itemsize
    _call(context, program, plan, places, first * columns, (first + count) * columns)
    give_back(memory, places)
    if reduces:
        reduce_band(launch, block, values, step, row, count)


def element_mapper(launch: ProductLaunch, values: int, begin: int, end: int) -> None:
    """Compute what `map_elements` describes: the task that it calls."""
    program = launch.map
    memory = thread_memory()
    places = Int64.at(take(memory, _PLACES_BYTES))
    context = Context.at(places + 8 * kMaxOperands)
    copy_bytes(places, launch.places, 8 * program.num_operands)
    places[program.values] = values
    _call(context, program, program.plan, places, begin, end)
    give_back(memory, places)


@jit
def _call(context: Context, program: ProductMap, plan: int, places: Int64, begin: int, end: int) -> None:
    context.dst = places[0]
    context.plan = plan
    context.sources[0].data = places
    call_task(program.task, context, begin, end)
