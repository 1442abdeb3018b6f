"""Gather and BatchGather: a kernel for each index type, unit and width of index arithmetic.

Kernels depend only on the size of elements, not on the data type: a row is a number of units of 1 to 16 bytes, and each
thread moves units with the grid as step, two at a time.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.index_math import index_math
from ep.cuda.compile.index_range import place_in_range
from ep.cuda.compile.memory import loader, storer, unit_type
from ep.cuda.compile.numba_cuda import device_function, next_index, num_threads, thread_index
from ep.cuda.engine.move.gather_plan import GatherWords
from ep.include.data_type import DataType


@cache
def kernel(indices_type: DataType, unit: int, bits: int, one_unit: bool, one_group: bool) -> KernelSource:
    """Return the kernel that gathers rows.

    one_unit: whether a row is one unit; one_group: whether batch and outer are 1.
    """
    load, store = loader(*unit_type(unit)), storer(*unit_type(unit))
    load_index, row_of = loader(indices_type, 1), place_in_range()
    narrow, quotient, multiply_add, remainder, *_, widen = index_math(bits)
    zeros = _zeros(unit)

    @device_function
    def locate(i: Any, words: GatherWords) -> Any:
        """Return the position in params of unit i of out, and whether it exists."""
        units = narrow(1) if one_unit else narrow(words.units.value)
        num_indices, gather = narrow(words.num_indices.value), narrow(words.gather)
        row_of_out = i if one_unit else quotient(i, narrow(words.units.multiplier), narrow(words.units.shift))
        column = remainder(i, row_of_out, units)
        group = narrow(0)
        if not one_group:
            group = quotient(row_of_out, narrow(words.num_indices.multiplier), narrow(words.num_indices.shift))
        position = remainder(row_of_out, group, num_indices)
        batch = narrow(0)
        if not one_group:
            batch = quotient(group, narrow(words.outer_multiplier), narrow(words.outer_shift))
        index = load_index(words.indices, widen(multiply_add(batch, num_indices, position)))[0]
        row, valid = row_of(index, words.low, words.num_valid)
        # the first row replaces one that does not exist: no branch, and no read out of bounds
        row = multiply_add(group, gather, narrow(row + words.first_row if valid else 0))
        return widen(multiply_add(row, units, column)), valid

    def gather(words: GatherWords) -> None:
        params, out, count = words.params, words.out, words.num_units
        i, step = thread_index(), num_threads()
        while i + step < count:
            place0, valid0 = locate(narrow(i), words)
            place1, valid1 = locate(narrow(i + step), words)
            unit0, unit1 = load(params, place0), load(params, place1)
            store(out, i, unit0 if valid0 else zeros)
            store(out, i + step, unit1 if valid1 else zeros)
            i = next_index(i, 2 * step)
        if i < count:
            place, valid = locate(narrow(i), words)
            unit = load(params, place)
            store(out, i, unit if valid else zeros)

    return KernelSource(f"gather.{indices_type.name}.{unit}.{bits}.{one_unit:d}{one_group:d}", gather)


def _zeros(unit: int) -> Any:
    data_type, count = unit_type(unit)
    return (data_type.dtype.type(0),) * count
