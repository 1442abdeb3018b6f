"""The plans of the reduce engine: what of src makes one unit of work, and in which order it is folded.

There are two ways. *By rows* the last axis goes: a unit is one element of dst. *By columns* it stays: a unit is a tile
of adjacent elements of dst. Either way what a unit reads is cut into *blocks*, parts of rows or several rows, and where
there are few units, blocks are shared out in *segments*. All of that follows from the shape alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ep.common.primitive.reduce_shape import Axis
from ep.common.primitive.signature import Signature
from ep.cpu.engine.layout import layout
from ep.cpu.engine.plan import Plan
from ep.include.data_type import DataType

PLAN_AXES: Final = 4
"""Outer axes of each kind at most: eight take turns."""

REDUCE_PLAN: Final = layout(
    "ReducePlan",
    by_columns=1,
    plain_rows=1,  # whether each row is one block and one unit, at steady distances
    units=1,
    segments=1,  # of each unit
    num_elements=1,  # that make one of dst
    length=1,  # by rows: elements of a row; by columns: rows
    width=1,  # by columns: elements of a row
    tile=1,  # by columns: of these, what a unit has at most
    tiles=1,
    group=1,  # by columns: rows that are taken for one, so that they fill vectors
    block=1,  # elements of a row, or rows (groups of them), of a block
    blocks=1,  # of one place along the outer axes that go
    all_blocks=1,
    num_stay=1,
    stay=2 * PLAN_AXES,  # the sizes of outer axes that stay, then their strides in bytes
    num_go=1,
    go=2 * PLAN_AXES,  # the same of those that go
)

TILE_VALUES: Final = 256
"""Values of a tile: a few of them are on the stack."""

_ENOUGH_UNITS: Final = 16  # for all threads to have some
_MOST_SEGMENTS: Final = 64
_ROW_BLOCK, _EXACT_ROW_BLOCK = 8192, 512  # elements; of float64, that 32 lanes add 16 each
_ROWS, _EXACT_ROWS = 64, 16


def reduce_plan(
    signature: Signature, axes: Sequence[Axis], data_type: DataType, parts: int, counts: tuple[int, int]
) -> Plan:
    """The plan for a src of simplified axes; counts: the elements of src and dst; parts: values of an element."""
    plan = Plan(REDUCE_PLAN, signature)
    plan.set_checks(counts, in_place=False)
    size, exact = data_type.itemsize, data_type in (DataType.kDouble, DataType.kComplex128)
    strides = [size * math.prod(axis.size for axis in axes[place + 1 :]) for place in range(len(axes))]
    walk = [(axis.reduced, axis.size, stride) for axis, stride in zip(axes, strides, strict=True)]
    by_columns = not walk[-1][0]
    width, tile, group = 1, 1, 1
    if by_columns:
        width = walk.pop()[1]
        tiles = -(-width * parts // TILE_VALUES)
        tile = min(-(-width // tiles) + 15 & -16, TILE_VALUES // parts, width) if tiles > 1 else width
    tiles = -(-width // tile)
    length = walk.pop()[1] if walk else 1
    if by_columns and tiles == 1:
        group = max(min(TILE_VALUES // (width * parts), length // _EXACT_ROWS), 1)
        group = 1 if width * parts >= TILE_VALUES // 4 else group
    rows = length // group
    block = (_EXACT_ROWS if exact else _ROWS) if by_columns else (_EXACT_ROW_BLOCK if exact else _ROW_BLOCK)
    blocks = -(-rows // block)
    stay, go = ([(each, stride) for reduced, each, stride in walk if reduced is kind] for kind in (False, True))
    all_blocks = blocks * math.prod(each for each, _ in go)
    units = tiles * math.prod(each for each, _ in stay)
    segments = 1 if units >= _ENOUGH_UNITS else min(all_blocks, _MOST_SEGMENTS // units)
    plan.set(
        by_columns=int(by_columns),
        plain_rows=int(not by_columns and all_blocks == 1 and len(stay) <= 1),
        units=units,
        segments=segments,
        num_elements=counts[0] // counts[1],
        length=length,
        width=width,
        tile=tile,
        tiles=tiles,
        group=group,
        block=block,
        blocks=blocks,
        all_blocks=all_blocks,
        num_stay=len(stay),
        stay=_axes(stay),
        num_go=len(go),
        go=_axes(go),
    )
    return plan


def _axes(axes: Sequence[tuple[int, int]]) -> list[int]:
    padded = [*axes, *[(1, 0)] * (PLAN_AXES - len(axes))]
    return [size for size, _ in padded] + [stride for _, stride in padded]
