"""What Expand has to write rows with, by the walk that they are in. Imports no Numba."""

from __future__ import annotations

from typing import Final, NamedTuple

from ep.common.primitive.broadcast import StridedWalk

VECTOR: Final = 32  # bytes that are moved at once
FEW: Final = 3  # units of a row, up to which they are moved one by one


class RowWriter(NamedTuple):
    """A way to write rows, bytes of a unit, and units of a row; 0 where it is for any."""

    kind: str
    unit: int = 0
    count: int = 0  # type: ignore[assignment]


def row_writer(walk: StridedWalk, unit: int) -> RowWriter:
    """What writes the rows of a walk over units of `unit` bytes."""
    count, src_step, dst_step = (part[-1] for part in walk)
    src_row, dst_row = (steps[-2] if len(steps) > 1 else 0 for steps in walk[1:])
    if src_step == dst_step == 1:
        if src_row == 0 and dst_row == count and count * unit <= 2 * VECTOR:
            return RowWriter("repeat" if count * unit >= VECTOR else "repeat_tiny")
        return RowWriter("few", unit, count) if count == FEW else RowWriter("copy")
    if src_step == 0 and dst_step == 1:
        return RowWriter("each", unit, count) if 1 < count <= FEW else RowWriter("fill", unit)
    return RowWriter("any", unit)
