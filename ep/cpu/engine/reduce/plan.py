"""The plans of the reduce engine: the units of work that src is cut into, and the order in which they are folded.

There are two cases. *By rows*, the last axis is reduced: a unit is one element of dst. *By columns*, it is kept: a unit
is a tile of adjacent elements of dst. In both cases the input of a unit is cut into *blocks*, parts of rows or several
rows. If there are few units, blocks are distributed in *segments*. All of this depends on the shape only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

from ep.common.native.fields import address, pointer, records, word, words
from ep.common.native.record import Record
from ep.common.primitive.reduce_shape import Axis
from ep.common.primitive.signature import Signature
from ep.common.stored_types import carried_as
from ep.cpu.engine.loop_nest import LoopNest, adjacent
from ep.cpu.engine.reduce.values import is_compensated, num_parts
from ep.cpu.machine.caches import far_from, second_cache
from ep.include.data_type import DataType
from ep.include.number_kind import part_of
from ep.include.primitive.reduce_op import ReduceOp

PLAN_AXES: Final = 4
"""The most outer axes of each kind: at worst, kinds of eight axes alternate."""


WINDOW_AXES: Final = 3


class WindowsLoops(Record):
    """The fields of `PlaneWindows`, for three axes. A `WindowsPlan` writes them."""

    sizes = words(WINDOW_AXES)
    counts = words(WINDOW_AXES)
    kernel = words(WINDOW_AXES)
    strides = words(WINDOW_AXES)
    before = words(WINDOW_AXES)
    dilations = words(WINDOW_AXES)


class OuterAxes(Record):
    """The outer axes of src that are kept, or those that are reduced. strides: in bytes."""

    count = word()
    sizes = words(PLAN_AXES)
    strides = words(PLAN_AXES)


class ReduceLoops(Record):
    """The plan of a launch of Reduce, which `reduce_plan` or a `WindowsPlan` writes."""

    by_columns = word()
    plain_rows = word()  # whether each row is one unit, at constant distances
    far = word()  # whether src is larger than L2, for whole rows, or half the last-level cache, for parts of rows
    units = word()
    segments = word()  # of each unit
    num_elements = word()  # src elements per element of dst
    length = word()  # by rows: elements of a row; by columns: rows
    width = word()  # by columns: elements of a row
    tile = word()  # by columns: the most elements of a row in a unit
    tiles = word()
    group = word()  # by columns: rows that are treated as one, so that they fill vectors
    block = word()  # elements of a row, or rows (groups of rows), of a block
    blocks = word()  # of one place along the reduced outer axes
    all_blocks = word()
    stay = records(OuterAxes, 1)
    go = records(OuterAxes, 1)
    task = address()  # the task, if it is not the walk; it reads `windows`: see `reduce/windows.py`
    windows = pointer(WindowsLoops)


_UNITS: Final = adjacent(ReduceLoops, "by_columns", "plain_rows", "far", "units", "segments", "num_elements")
_BLOCKS: Final = adjacent(ReduceLoops, "length", "width", "tile", "tiles", "group", "block", "blocks", "all_blocks")


class Part(Enum):
    """Tasks of a reduction that are compiled together when a plan first needs them, by their names in the state."""

    ROWS = ("reduce_rows",)
    BLOCKS = ("fold_row", "fold_apart")
    COLUMNS = ("fold_columns",)
    VALUES = ("merge", "finish")


TILE_BYTES: Final = 8192
"""The bytes of a tile's values, including their errors: a few tiles are on the stack."""
ROW_BLOCK: Final = (8192, 512)
"""By rows: elements that are folded in sequence; for float64, each of 32 lanes adds 16."""

_ENOUGH_UNITS: Final = 16  # from this number on, each thread has some
_MOST_SEGMENTS: Final = 64
_LEAST_SEGMENT: Final = 2**15  # bytes
_ROWS, _FEW_ROWS = 64, 16
_FULL, _GROUP = 32, 256  # values of a row that needs no grouping to fill vectors, and of a group of rows


def reduce_plan(
    signature: Signature, op: ReduceOp, data_type: DataType, axes: Sequence[Axis], counts: tuple[int, int]
) -> LoopNest:
    """Return the plan for a src of simplified axes; counts: the elements of src and dst."""
    plan = LoopNest(ReduceLoops, signature)
    plan.set_checks(counts, in_place=False)
    size, parts, exact = data_type.itemsize, num_parts(op, data_type), is_compensated(op, data_type)
    most = TILE_BYTES // carried_as(op, data_type).itemsize // (2 if exact else 1)
    walk, stride = [], size
    for axis_size, reduced in reversed(axes):
        walk.append((reduced, axis_size, stride))
        stride *= axis_size
    walk.reverse()
    by_columns = not walk[-1][0]
    width, tile, group = 1, 1, 1
    if by_columns:
        width = walk.pop()[1]
        tiles = -(-width * parts // most)
        tile = min(-(-width // tiles) + 63 & -64, most // parts, width) if tiles > 1 else width
    tiles = -(-width // tile)
    length = walk.pop()[1] if walk else 1
    if by_columns and width * parts < _FULL:
        group = max(min(_GROUP // (width * parts), length // _FEW_ROWS), 1)
    rows = length // group
    block = _ROWS if by_columns else ROW_BLOCK[False]
    blocks = -(-rows // block)
    stay, go = ([axis for axis in walk if axis[0] is kind] for kind in (False, True))
    all_blocks = blocks * math.prod([each for _, each, _ in go])
    units = tiles * math.prod([each for _, each, _ in stay])
    segments = 1
    if units < _ENOUGH_UNITS:
        segments = max(min(all_blocks, _MOST_SEGMENTS // units, counts[0] * size // units // _LEAST_SEGMENT), 1)
    plain_rows = not by_columns and not go and len(stay) <= 1 and segments == 1
    far = counts[0] * size > (second_cache() if tile == width else far_from())
    num_elements = counts[0] // counts[1]
    plan.set_words(_UNITS, (by_columns, plain_rows, far, units, segments, num_elements))
    plan.set_words(_BLOCKS, (length, width, tile, tiles, group, block, blocks, all_blocks))
    plan.set_words(ReduceLoops.stay, _outer_axes(stay))
    plan.set_words(ReduceLoops.go, _outer_axes(go))
    return plan


def may_overflow(op: ReduceOp, data_type: DataType) -> bool:
    """Return whether the sum may overflow although the result does not; it is then recomputed with scaled numbers."""
    return op is ReduceOp.kMean and part_of(data_type) is DataType.kDouble


def parts_of(plan: Any, op: ReduceOp, data_type: DataType, computed: bool = False) -> tuple[Part, ...]:
    """Return the parts that the walk calls for the words of a plan; computed: if elements are computed as it reads."""
    if plan[ReduceLoops.by_columns]:
        return Part.COLUMNS, Part.VALUES
    if not plan[ReduceLoops.plain_rows] or computed:
        return Part.BLOCKS, Part.VALUES
    return (Part.ROWS, Part.BLOCKS, Part.VALUES) if may_overflow(op, data_type) else (Part.ROWS,)


def _outer_axes(axes: Sequence[tuple[bool, int, int]]) -> list[int]:
    """Return the words of `OuterAxes`."""
    words = [len(axes)] + [1] * PLAN_AXES + [0] * PLAN_AXES
    for place, (_, size, stride) in enumerate(axes, 1):
        words[place], words[PLAN_AXES + place] = size, stride
    return words
