"""Deduction: the signature that moves the fewest bytes until the result can be read, on each axis of a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ep.sbp.boxing import Move, bytes_moved, moves
from ep.sbp.pieces import piece_shape
from ep.sbp.sbp import Broadcast, Partial, Sbp, Split
from ep.sbp.signature import Dims, HasSignatures, Problem, Signature


class Choice(NamedTuple):
    """A signature, and what it takes to get there on one axis of a mesh.

    inputs: the moves of each input from where it lies to where the signature has it.
    output: those of the outputs, from where the signature has them to where they are wanted.
    later: where nothing is wanted and the outputs are partial: what it takes at least before anyone can read them.
    to_all: where nothing is wanted, the bytes that it takes until every rank has all of the outputs.
    """

    signature: Signature
    inputs: tuple[tuple[Move, ...], ...]
    output: tuple[Move, ...]
    later: tuple[Move, ...] = ()
    to_all: int = 0

    @property
    def bytes(self) -> int:
        """What all ranks together send."""
        return sum(move.bytes for steps in (*self.inputs, self.output) for move in steps)

    @property
    def cost(self) -> int:
        """What choices are compared by: what is sent, and what will be before the outputs can be read."""
        return self.bytes + sum(move.bytes for move in self.later)


def choices(
    problem: Problem, listed: Sequence[Signature], given: Sequence[Sbp], wanted: Sbp | None = None
) -> list[Choice]:
    """Every listed signature with its moves, the one of the least cost first.

    given: how the inputs lie. wanted: how the outputs are to lie; None where they may lie as they come. What comes
    partial costs then what a reduce-scatter moves: a value that nobody has put together cannot be read. Of equals, the
    one whose outputs are nearest to all that every rank wants, so that what is broadcast stays so; then the one listed
    first. Raises ValueError for an input without a place, or with one that its shape does not have.
    """
    if len(given) != len(problem.shapes):
        raise ValueError(f"there are {len(problem.shapes)} inputs, and {len(given)} placements were given")
    for position, (sbp, shape) in enumerate(zip(given, problem.shapes, strict=True)):
        sbp.check(shape, f"input {position}")
    if wanted is not None:
        for shape in problem.out_shapes:
            wanted.check(shape, "the output")
    sizes = [data_type.itemsize for data_type in problem.types]
    found = []
    for signature in listed:
        steps = tuple(
            tuple(moves(source, target, shape, size, problem.ranks))
            for source, target, shape, size in zip(given, signature.inputs, problem.shapes, sizes, strict=True)
        )
        outputs, later, to_all = [], [], 0
        for out, shape in zip(signature.outputs, problem.out_shapes, strict=True):
            size = problem.out_type.itemsize
            outputs += moves(out, out if wanted is None else wanted, shape, size, problem.ranks)
            if wanted is None:
                to_all += bytes_moved(out, Broadcast(), shape, size, problem.ranks)
                if isinstance(out, Partial):
                    later += moves(out, Split(0) if shape else Broadcast(), shape, size, problem.ranks)
        found.append(Choice(signature, steps, tuple(outputs), tuple(later), to_all))
    return sorted(found, key=lambda choice: (choice.cost, choice.to_all))


def choose(
    operator: HasSignatures,
    problem: Problem,
    mesh: Sequence[int],
    given: Sequence[Sequence[Sbp]],
    wanted: Sequence[Sbp] | None = None,
) -> list[Choice]:
    """Return the choice for each axis of a mesh.

    problem: whole; its `ranks` is not read.
    mesh: how many ranks there are along each axis of it.
    given, wanted: one SBP for each axis of the mesh.

    The first axis of the mesh decides first. To the next, the pieces of its first rank, which are the largest, are the
    whole; what is listed for the smallest as well is listed for all.
    """
    chosen: list[Choice] = []
    for axis in range(len(mesh)):
        here = problem_on_axis(operator, problem, [one.signature for one in chosen], mesh, (0,) * axis)
        listed = signatures_on_axis(operator, problem, [one.signature for one in chosen], mesh)
        target = None if wanted is None else wanted[axis]
        chosen.append(choices(here, listed, [places[axis] for places in given], target)[0])
    return chosen


def signatures_on_axis(
    operator: HasSignatures, problem: Problem, before: Sequence[Signature], mesh: Sequence[int]
) -> list[Signature]:
    """The signatures that hold on an axis of a mesh on all of its ranks.

    before: those of the axes before it.
    """
    first = problem_on_axis(operator, problem, before, mesh, (0,) * len(before))
    last = problem_on_axis(operator, problem, before, mesh, [ranks - 1 for ranks in mesh[: len(before)]])
    also = operator.signatures(last) if before else None
    return [one for one in operator.signatures(first) if also is None or one in also]


def problem_on_axis(
    operator: HasSignatures,
    problem: Problem,
    before: Sequence[Signature],
    mesh: Sequence[int],
    coordinates: Sequence[int],
) -> Problem:
    """The problem along an axis of a mesh: what a rank at `coordinates` of the axes before it has, is the whole to it.

    before: the signatures of the axes before it; where they are those of all axes, the problem that one rank has.
    """
    for signature, ranks, coordinate in zip(before, mesh, coordinates, strict=False):
        problem = problem._replace(ranks=ranks)
        problem = problem._replace(
            attributes=operator.local_attributes(problem, signature, coordinate),
            shapes=_piece_shapes(problem.shapes, signature.inputs, ranks, coordinate),
            out_shapes=_piece_shapes(problem.out_shapes, signature.outputs, ranks, coordinate),
        )
    return problem._replace(ranks=mesh[len(before)] if len(before) < len(mesh) else 1)


def _piece_shapes(shapes: Sequence[Dims], sbps: Sequence[Sbp], ranks: int, rank: int) -> list[Dims]:
    return [piece_shape(shape, sbp, ranks, rank) for shape, sbp in zip(shapes, sbps, strict=True)]
