"""Routes: the steps that reshard a tensor on a mesh of one or two axes, and the bytes that they move.

Every step is a move along one axis of the mesh, in each group of ranks that differ along that axis alone. If both axes
of the mesh split one axis of a tensor, the first splits the tensor, and the second splits the pieces. The SBP of the
first cannot change then while the second splits that axis: the ranks of its groups would have parts that are not side
by side. If a tensor is partial along both axes, the second axis is reduced first: a maximum of sums is not a sum of
maxima, so partials of two kinds are reduced from the second axis on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ep.sbp.boxing import Move, bytes_moved, moves
from ep.sbp.pieces import piece_shape, span
from ep.sbp.sbp import Broadcast, Partial, Sbp, Split

Dims = tuple[int, ...]


class Step(NamedTuple):
    """A move along one axis of a mesh. Its bytes are the total that all ranks of the mesh send."""

    axis: int
    move: Move


def piece_shape_on(
    shape: Dims, sbps: Sequence[Sbp], mesh: Sequence[int], coordinates: Sequence[int], but: int | None = None
) -> Dims:
    """Return the shape of the piece at `coordinates` of a mesh; with `but`, of its group's part along that axis."""
    for axis, (sbp, ranks, coordinate) in enumerate(zip(sbps, mesh, coordinates, strict=True)):
        if axis != but:
            shape = piece_shape(shape, sbp, ranks, coordinate)
    return shape


def region_on(shape: Dims, sbps: Sequence[Sbp], mesh: Sequence[int], coordinates: Sequence[int]) -> tuple[slice, ...]:
    """Return the part of the whole that the rank at `coordinates` of a mesh has, as one slice per axis."""
    ends = [(0, size) for size in shape]
    for sbp, ranks, coordinate in zip(sbps, mesh, coordinates, strict=True):
        if isinstance(sbp, Split):
            begin, end = ends[sbp.axis]
            first, last = span(end - begin, ranks, coordinate)
            ends[sbp.axis] = begin + first, begin + last
    return tuple(slice(*pair) for pair in ends)


def sent(steps: Sequence[Step]) -> int:
    """Return the bytes that all ranks of the mesh together send."""
    return sum(step.move.bytes for step in steps)


def route(source: Sequence[Sbp], target: Sequence[Sbp], shape: Dims, itemsize: int, mesh: Sequence[int]) -> list[Step]:
    """Return the steps from `source` to `target`, which have one SBP for each axis of the mesh.

    Of the possible orders, it is the one that moves the fewest bytes; among equals, the one with the fewest steps.
    """
    found = []
    for stops in _orders(tuple(source), tuple(target)):
        steps: list[Step] = []
        for here, there in pairwise(stops):
            steps += _steps(here, there, shape, itemsize, mesh)
        found.append(steps)
    return min(found, key=lambda steps: (sent(steps), len(steps)))


def _orders(source: tuple[Sbp, ...], target: tuple[Sbp, ...]) -> list[list[tuple[Sbp, ...]]]:
    """Return the possible orders, as lists of SBPs; from one entry to the next, one axis changes."""
    if len(source) == 1 or source[0] == target[0]:
        return [[source, target]]
    split = [place for place in (source[0], target[0]) if isinstance(place, Split)]
    found = []
    for meanwhile in dict.fromkeys([source[1], target[1], Broadcast()]):
        both = isinstance(source[0], Partial) and isinstance(meanwhile, Partial)
        if meanwhile not in split and not (both and meanwhile != source[0]):
            found.append([source, (source[0], meanwhile), (target[0], meanwhile), target])
    return found


def _steps(
    source: tuple[Sbp, ...], target: tuple[Sbp, ...], shape: Dims, itemsize: int, mesh: Sequence[int]
) -> list[Step]:
    """Return the moves along the one axis in which `source` and `target` differ."""
    changed = [axis for axis, (here, there) in enumerate(zip(source, target, strict=True)) if here != there]
    if not changed:
        return []
    (axis,) = changed
    here, there, ranks = source[axis], target[axis], mesh[axis]
    others = range(mesh[1 - axis]) if len(mesh) > 1 else range(1)
    groups = [piece_shape_on(shape, source, mesh, [place] * len(mesh), but=axis) for place in others]

    def all_send(move: Move) -> int:
        return sum(bytes_moved(move.source, move.target, whole, itemsize, ranks) for whole in groups)

    return [Step(axis, move._replace(bytes=all_send(move))) for move in moves(here, there, shape, itemsize, ranks)]
