"""The plan of a launch of Gather or BatchGather, which depends on sizes and the addresses of the buffers."""

from __future__ import annotations

from typing import NamedTuple

from ep.common.primitive.gather_view import GatherSizes
from ep.common.primitive.movement import fits_32_bit_offsets
from ep.cuda.compile.kernel_words import Divisor, divisor
from ep.include.data_type import DataType


class GatherVariant(NamedTuple):
    """One of the kernels of `move.gather`.

    unit: the bytes that are moved at once; bits: of the arithmetic of offsets.
    one_unit: whether a row is one unit; one_group: whether batch and outer are 1.
    """

    unit: int
    bits: int
    one_unit: bool
    one_group: bool


class GatherWords(NamedTuple):
    """The words of a kernel. num_units: of out. The valid indices are [low, low + num_valid); `low` names row
    `first_row` of its group. units: of a row. outer_multiplier, outer_shift: to divide by outer."""

    params: int
    indices: int
    out: int
    num_units: int
    low: int
    num_valid: int
    first_row: int
    units: Divisor
    num_indices: Divisor
    outer_multiplier: int
    outer_shift: int
    gather: int


class GatherPlan(NamedTuple):
    """A launch for given sizes with units of one width; words: without the addresses."""

    variant: GatherVariant
    num_items: int
    words: GatherWords


def gather_plan(sizes: GatherSizes, unit: int, params_type: DataType, indices_type: DataType) -> GatherPlan:
    """Return the plan; out has elements, and params has rows."""
    units = sizes.inner * params_type.itemsize // unit
    groups = sizes.batch * sizes.outer
    count, params_count = groups * sizes.num_indices * units, groups * sizes.gather * units
    bits = 32 if fits_32_bit_offsets(count, params_count, sizes.batch * sizes.num_indices) else 64
    low = max(sizes.offset, 0) if indices_type.dtype.kind == "u" else sizes.offset
    first_row = low - sizes.offset
    _, outer_multiplier, outer_shift = divisor(sizes.outer, bits)
    words = GatherWords(
        *(0, 0, 0),
        num_units=count,
        low=low,
        num_valid=max(sizes.gather - first_row, 0),
        first_row=first_row,
        units=divisor(units, bits),
        num_indices=divisor(sizes.num_indices, bits),
        outer_multiplier=outer_multiplier,
        outer_shift=outer_shift,
        gather=sizes.gather,
    )
    return GatherPlan(GatherVariant(unit, bits, units == 1, groups == 1), count, words)
