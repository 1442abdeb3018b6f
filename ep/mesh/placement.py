"""Placement: a mesh of the ranks of a job, of one axis or of two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ep.common.checks import integers_in
from ep.mesh.transport import Group
from ep.mesh.world import world

_GROUPS: Final[dict[tuple[int, ...], tuple[Group, ...]]] = {}
"""The groups of every mesh so far: MPI has few communicators."""


class Placement:
    """All ranks of a job as a mesh: rank r of 2 x 4 is at (r // 4, r % 4).

    Two placements with the same mesh are equal.
    """

    def __init__(self, mesh: int | Sequence[int]) -> None:
        """mesh: the number of ranks along each of its one or two axes.

        Every rank must create it. Raises, on all ranks, ValueError if the mesh has another number of ranks than
        the job, or if ranks give different meshes; TypeError if `mesh` is not a mesh; ImportError without mpi4py.
        """
        every = world().from_all(lambda: _checked(mesh), "Placement")
        self.mesh: tuple[int, ...] = every[world().rank]
        if any(one != every[0] for one in every):
            rank = next(rank for rank, one in enumerate(every) if one != every[0])
            raise ValueError(f"mesh is {every[0]} on rank 0, and {every[rank]} on rank {rank}; all must give the same")
        self.coordinates: tuple[int, ...] = _coordinates(world().rank, self.mesh)
        if self.mesh not in _GROUPS:
            _GROUPS[self.mesh] = _groups(self.mesh, self.coordinates)
        self.groups = _GROUPS[self.mesh]

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return math.prod(self.mesh)

    @property
    def rank(self) -> int:
        """The number of this rank."""
        rank: int = world().rank
        return rank

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and other.mesh == self.mesh

    def __hash__(self) -> int:
        return hash(self.mesh)

    def __str__(self) -> str:
        return f"a mesh of {' x '.join(map(str, self.mesh))} ranks"

    def __repr__(self) -> str:
        return f"Placement({self.mesh})"


def _checked(mesh: Any) -> tuple[int, ...]:
    sizes = integers_in(mesh, "mesh")
    if len(sizes) not in (1, 2) or min(sizes) < 1:
        raise ValueError(f"mesh is {mesh}; it must have one axis or two, of at least one rank each")
    ranks, there = math.prod(sizes), world().size
    if ranks != there:
        words = " x ".join(map(str, sizes))
        raise ValueError(f"a mesh of {words} has {ranks} ranks, and this job has {there}: mpiexec -n {ranks} starts it")
    return sizes


def _coordinates(rank: int, mesh: tuple[int, ...]) -> tuple[int, ...]:
    return (rank,) if len(mesh) == 1 else divmod(rank, mesh[1])


def _groups(mesh: tuple[int, ...], coordinates: tuple[int, ...]) -> tuple[Group, ...]:
    """Return the groups of this rank, one for each axis: the ranks that differ from it along that axis alone."""
    if len(mesh) == 1:
        return (Group(world().comm),)
    return tuple(Group(world().split(coordinates[1 - axis], coordinates[axis])) for axis in range(2))
