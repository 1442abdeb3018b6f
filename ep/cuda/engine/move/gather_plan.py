"""The plan of a launch of Gather or BatchGather, which depends on sizes and the addresses of the buffers."""

from __future__ import annotations

from typing import NamedTuple

from ep.common.fast_integer_math import FastIntegerMath
from ep.common.primitive.gather_view import GatherSizes
from ep.common.primitive.movement import fits_32_bit_offsets
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


class GatherPlan(NamedTuple):
    """A launch for given sizes with units of one width; words: all except the addresses."""

    variant: GatherVariant
    num_items: int
    words: tuple[int, ...]


def gather_plan(sizes: GatherSizes, unit: int, params_type: DataType, indices_type: DataType) -> GatherPlan:
    """Return the plan; out has elements, and params has rows."""
    units = sizes.inner * params_type.itemsize // unit
    groups = sizes.batch * sizes.outer
    count, params_count = groups * sizes.num_indices * units, groups * sizes.gather * units
    bits = 32 if fits_32_bit_offsets(count, params_count, sizes.batch * sizes.num_indices) else 64
    low = max(sizes.offset, 0) if indices_type.dtype.kind == "u" else sizes.offset
    first_row = low - sizes.offset
    words = (
        count,
        *(low, max(sizes.gather - first_row, 0), first_row),
        *FastIntegerMath(units, bits).words(),
        *FastIntegerMath(sizes.num_indices, bits).words(),
        *FastIntegerMath(sizes.outer, bits).words()[1:],
        sizes.gather,
    )
    return GatherPlan(GatherVariant(unit, bits, units == 1, groups == 1), count, words)
