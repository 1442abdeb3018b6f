"""The kinds of row writers, and the choice of the writer and the axis order of a walk. This module imports no Numba."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from ep.common.primitive.broadcast import StridedWalk
from ep.cpu.lines.sizes import LEAST_STREAMED_ROW, LINE
from ep.cpu.shared.state import GRAIN_BYTES

VECTOR: Final = 32
"""Bytes of the vectors that repeated rows are written in."""

LANE: Final = 16
"""Bytes of the parts of vectors in which units are transposed."""

COMPACT: Final = 3 * LINE
"""The most bytes from a row of dst to the next for which blocks of dst stay in L1 while they are written."""

_WIDE: Final = 4096  # the least bytes of a row of src that crosses enough rows of dst for threads to share
_FEW_LINES: Final = 4 * LINE  # the same if rows of dst are short: each thread has whole cache lines of the row
_SHORT: Final = GRAIN_BYTES // (2 * LINE)  # the most units of such rows of dst

_FEW: Final = 3  # the most units of a row that are moved one by one


_LEAST_SIDE: Final = 16  # the least units along either axis of a block that is transposed to tiles

_MOST_STREAMS: Final = 32  # in which rows are written at the same time

_PLANES: Final = (2, 3, 4)  # the numbers of units in a row that weaving supports


class RunWriter(NamedTuple):
    """A kind of row writer. unit, units: bytes of a unit and units of a row; 0 if the writer is for any number.

    For "transpose", units is 1 if it uses non-temporal stores.
    """

    kind: str
    unit: int = 0
    units: int = 0


_COPY: Final = RunWriter("copy")
_REPEAT: Final = RunWriter("repeat")
_REPEAT_TINY: Final = RunWriter("repeat_tiny")


def run_writer(walk: StridedWalk, unit: int) -> RunWriter:
    """Return the writer for the rows of a walk over units."""
    dims, src_steps, dst_steps = walk
    count, src_step, dst_step = dims[-1], src_steps[-1], dst_steps[-1]
    if src_step == dst_step == 1:
        src_row, dst_row = (src_steps[-2], dst_steps[-2]) if len(dims) > 1 else (0, 0)
        if src_row == 0 and dst_row == count and count * unit <= 2 * VECTOR:
            return _REPEAT if count * unit >= VECTOR else _REPEAT_TINY
        return RunWriter("few", unit, count) if count == _FEW else _COPY
    if src_step == 0 and dst_step == 1:
        return RunWriter("each", unit, count) if 1 < count <= _FEW else RunWriter("fill", unit)
    return RunWriter("any", unit)


def streamed_in_lines(writer: RunWriter, walk: StridedWalk, unit: int) -> int:
    """Return the bits of dst's address that must be 0 for the writer to use non-temporal stores; -1 if it cannot."""
    if writer.kind == "weave":
        return 0
    if writer.kind == "unweave":  # the planes must begin at the same place of a line
        return 0 if walk.dst_strides[-1] * unit % LINE == 0 else -1
    if writer.kind not in ("copy", "fill"):
        return -1
    row = walk.dims[-1] * unit
    if row >= LEAST_STREAMED_ROW:
        return 0
    if row % LINE or any(unit * step % LINE for step in walk.dst_strides[:-1]):
        return -1
    return LINE - 1


def transposed(walk: StridedWalk, unit: int, streamed_from: int) -> tuple[StridedWalk, RunWriter] | None:
    """Return the walk in the order for a writer of transposed blocks, and the writer; None if this gains nothing.

    In a block of two axes, src has adjacent units along one axis and dst along the other; the longer axis is that of
    the rows.
    streamed_from: the most bytes of dst that are written with ordinary stores.
    """
    across, last = _crossing(walk), len(walk.dims) - 1
    if across is None:
        return None
    width, length = walk.dims[across], walk.dims[last]
    if length in _PLANES and walk.dst_strides[across] == length and unit <= LANE // 2:
        rows, writer = across, RunWriter("weave", unit, length)
    elif width in _PLANES and walk.src_strides[last] == width and unit <= LANE // 2:
        rows, writer = last, RunWriter("unweave", unit, width)
    elif width * unit < LANE or length * unit < LANE:
        return None
    else:
        rows = _rows_of_blocks(walk, unit, across)
        is_compact = walk.dst_strides[across] * unit <= COMPACT  # most lines would be cut by the ends of rows
        writer = RunWriter("transpose", unit, int(math.prod(walk.dims) * unit > streamed_from and not is_compact))
    return _by_blocks(walk, across, rows), writer


def in_few_streams(walk: StridedWalk) -> StridedWalk:
    """Return the walk of rows with the axis of src's adjacent rows last but one, if it has few.

    Rows of src are then read in order and written in as many streams, which takes less time than to read single rows
    from all over memory.
    """
    last = len(walk.dims) - 1
    nearest = min(range(last), key=walk.src_strides.__getitem__, default=0)
    is_better = walk.dims[nearest] < min(walk.dims[last - 1], _MOST_STREAMS)
    return _by_blocks(walk, nearest, nearest) if is_better and walk.src_strides[nearest] > 0 else walk


def by_transposed_tiles(walk: StridedWalk, unit: int) -> tuple[StridedWalk, bool] | None:
    """Return the walk in the order for transposing blocks to tiles, and whether dst is contiguous along the rows.

    Return None if that gains nothing.
    """
    across = _crossing(walk)
    if across is None or min(walk.dims[across], walk.dims[-1]) < _LEAST_SIDE:
        return None
    rows = _rows_of_blocks(walk, unit, across)
    return _by_blocks(walk, across, rows), rows != across


def _crossing(walk: StridedWalk) -> int | None:
    """Return the axis along which src has adjacent units, if dst has them along the last axis; None if there is none.

    Runs of src that overlap, as windows do, do not count: they are in the caches when they are read again.
    """
    step = walk.src_strides[-1]
    if walk.dst_strides[-1] != 1 or step <= 1:
        return None
    each = zip(walk.dims[:-1], walk.src_strides, walk.dst_strides, strict=False)
    crossing = (axis for axis, (size, src, dst) in enumerate(each) if src == 1 and dst > 1 and size <= step)
    return next(crossing, None)


def _rows_of_blocks(walk: StridedWalk, unit: int, across: int) -> int:
    """Return the axis of a block's rows, which threads share: that of dst's rows, if there are enough.

    Otherwise threads share the cache lines of dst in which their parts of its rows meet, and wait for them.
    """
    width, length = walk.dims[across], walk.dims[-1]
    are_enough = width * unit >= _WIDE or (width * unit >= _FEW_LINES and length <= _SHORT)
    return across if width > length or are_enough else len(walk.dims) - 1


def _by_blocks(walk: StridedWalk, across: int, rows: int) -> StridedWalk:
    """Return the walk with the two axes of blocks last, the axis of rows first of these."""
    last = len(walk.dims) - 1
    outer = [axis for axis in range(last) if axis != across]
    order = [*outer, rows, across + last - rows]
    return StridedWalk(*(tuple(part[axis] for axis in order) for part in walk))


def transposing_writers(unit: int, max_unit: int) -> list[RunWriter]:
    """Return every writer that `transposed` may return for units of `unit` to `max_unit` bytes."""
    writers = []
    while unit <= max_unit:
        writers += [RunWriter("transpose", unit, streamed) for streamed in range(2)]
        if unit <= LANE // 2:
            writers += [RunWriter(kind, unit, planes) for kind in ("weave", "unweave") for planes in _PLANES]
        unit *= 2
    return writers


def run_writers(unit: int, max_unit: int) -> list[RunWriter]:
    """Return every writer that a walk over units of `unit` to `max_unit` bytes may need."""
    writers = [_COPY, _REPEAT, _REPEAT_TINY]
    while unit <= max_unit:
        writers += [RunWriter("few", unit, 3), RunWriter("each", unit, 2), RunWriter("each", unit, 3)]
        writers += [RunWriter("fill", unit), RunWriter("any", unit)]
        unit *= 2
    return writers
