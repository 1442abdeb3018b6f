"""The ways in which rows are written, and which one a walk takes. Imports no Numba."""

from __future__ import annotations

from typing import Final, NamedTuple

from ep.common.primitive.broadcast import StridedWalk

VECTOR: Final = 32
"""Bytes of the vectors that repeated rows are written in."""

_FEW: Final = 3  # units of a row, up to which they are moved one by one


class RowWriter(NamedTuple):
    """A way to write rows. unit, count: bytes of a unit and units of a row, 0 where it is for any."""

    kind: str
    unit: int = 0
    count: int = 0


def row_writer(walk: StridedWalk, unit: int) -> RowWriter:
    """The way for the rows of a walk over units."""
    count, src_step, dst_step = (part[-1] for part in walk)
    src_row, dst_row = (steps[-2] if len(steps) > 1 else 0 for steps in walk[1:])
    if src_step == dst_step == 1:
        if src_row == 0 and dst_row == count and count * unit <= 2 * VECTOR:
            return RowWriter("repeat" if count * unit >= VECTOR else "repeat_tiny")
        return RowWriter("few", unit, count) if count == _FEW else RowWriter("copy")
    if src_step == 0 and dst_step == 1:
        return RowWriter("each", unit, count) if 1 < count <= _FEW else RowWriter("fill", unit)
    return RowWriter("any", unit)


def row_writers(unit: int, max_unit: int) -> list[RowWriter]:
    """Every way that a walk over units of `unit` to `max_unit` bytes may need."""
    writers = [RowWriter("copy"), RowWriter("repeat"), RowWriter("repeat_tiny")]
    while unit <= max_unit:
        writers += [RowWriter("few", unit, 3), RowWriter("each", unit, 2), RowWriter("each", unit, 3)]
        writers += [RowWriter("fill", unit), RowWriter("any", unit)]
        unit *= 2
    return writers
