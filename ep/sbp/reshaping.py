"""Reshapes of split tensors: which axes stay split, so that each rank reshapes its own piece."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

from ep.sbp.routes import region_on
from ep.sbp.sbp import Broadcast, Sbp, Split

Dims = tuple[int, ...]


def reshaped_sbps(
    shape: Dims, sizes: Dims, sbps: Sequence[Sbp], mesh: Sequence[int]
) -> tuple[tuple[Sbp, ...], tuple[Sbp, ...]]:
    """Return the SBPs that a tensor of `shape` must have first, and those that it has then as one of `sizes`.

    A split stays where each rank's piece is the same part of the elements in both shapes: that of an axis that stays
    whole, or of the first one of axes that are joined or parted, if the parts are multiples. The tensor must be
    broadcast along the other axes of the mesh that split it.
    """
    stays = {}
    for before, after in _alike(shape, sizes):
        old, new = before[0], after[0]
        moved = [Split(new) if one == Split(old) else Broadcast() for one in sbps]
        rows = math.prod(shape[axis] for axis in before[1:]), math.prod(sizes[axis] for axis in after[1:])
        parts = (
            (region_on(shape, sbps, mesh, rank)[old], region_on(sizes, moved, mesh, rank)[new])
            for rank in product(*map(range, mesh))
        )
        if all((a.start * rows[0], a.stop * rows[0]) == (b.start * rows[1], b.stop * rows[1]) for a, b in parts):
            stays[old] = new
    first = tuple(Broadcast() if isinstance(one, Split) and one.axis not in stays else one for one in sbps)
    return first, tuple(Split(stays[one.axis]) if isinstance(one, Split) else one for one in first)


def _alike(shape: Dims, sizes: Dims) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Yield axes of `shape` and axes of `sizes` with the same elements, as few as possible, without those of size 1."""
    old, new = ([axis for axis, size in enumerate(one) if size != 1] for one in (shape, sizes))
    i = k = 0
    while i < len(old) and k < len(new):
        begin = i, k
        before, after = shape[old[i]], sizes[new[k]]
        i, k = i + 1, k + 1
        while before != after and (i < len(old) or k < len(new)):
            if k == len(new) or (before < after and i < len(old)):
                before, i = before * shape[old[i]], i + 1
            else:
                after, k = after * sizes[new[k]], k + 1
        yield old[begin[0] : i], new[begin[1] : k]
