"""Boxing: the moves that change the SBP of a tensor, and the bytes that they move, by the usual ring formulas.

Bytes are the total that all ranks send, for a tensor of `size` bytes on p ranks:

| from, to | how | bytes |
|---|---|---|
| S -> B | all-gather | (p - 1) size |
| P -> B | all-reduce | 2 (p - 1) size |
| P -> S | reduce-scatter | (p - 1) size |
| S(i) -> S(j) | all-to-all | size less the part that stays in place: (p - 1) / p size |
| B -> S, B -> P, S -> P | local, without an exchange | 0 |

PMax and PMin change to other SBPs as P does. B is a valid PMax or PMin without change. S becomes one of them through B.
A partial of one kind becomes a partial of another kind through B, too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ep.sbp.pieces import piece_sizes
from ep.sbp.sbp import Broadcast, PartialSum, Sbp, Split

Dims = tuple[int, ...]


class Move(NamedTuple):
    """One step of a change of SBP.

    name: the collective operation, or "local".
    bytes: the total that all ranks send.
    """

    source: Sbp
    target: Sbp
    name: str
    bytes: int


def moves(source: Sbp, target: Sbp, shape: Dims, itemsize: int, ranks: int) -> list[Move]:
    """Return the steps that change a tensor from `source` to `target` along one axis of a mesh."""
    source.check(shape, "the tensor")
    target.check(shape, "the tensor")
    size = math.prod(shape) * itemsize
    whole = Broadcast()
    if source == target or ranks == 1:
        return []
    if isinstance(source, Broadcast):
        return [Move(source, target, "local", 0)]
    if isinstance(source, Split):
        if isinstance(target, Split):
            return [Move(source, target, "all-to-all", size - _kept(shape, source.axis, target.axis, itemsize, ranks))]
        if isinstance(target, PartialSum):
            return [Move(source, target, "local", 0)]
        gathered = Move(source, whole, "all-gather", (ranks - 1) * size)
        return [gathered, *moves(whole, target, shape, itemsize, ranks)]
    if isinstance(target, Split):
        return [Move(source, target, "reduce-scatter", (ranks - 1) * size)]
    reduced = Move(source, whole, "all-reduce", 2 * (ranks - 1) * size)
    return [reduced, *moves(whole, target, shape, itemsize, ranks)]


def bytes_moved(source: Sbp, target: Sbp, shape: Dims, itemsize: int, ranks: int) -> int:
    """Return the bytes that all ranks together send in a change from `source` to `target`."""
    return sum(move.bytes for move in moves(source, target, shape, itemsize, ranks))


def _kept(shape: Dims, source: int, target: int, itemsize: int, ranks: int) -> int:
    """Return the bytes of the parts that stay on their ranks when the split axis changes."""
    others = math.prod(size for axis, size in enumerate(shape) if axis not in (source, target))
    pairs = zip(piece_sizes(shape[source], ranks), piece_sizes(shape[target], ranks), strict=True)
    return others * sum(one * other for one, other in pairs) * itemsize
