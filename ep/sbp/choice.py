"""Deduction: the signature that moves the fewest bytes until the result can be read, on each axis of a mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ep.sbp.boxing import Move, moves
from ep.sbp.pieces import piece_shape
from ep.sbp.sbp import Broadcast, Partial, Sbp, Split
from ep.sbp.signature import Dims, Problem, Signature


class Choice(NamedTuple):
    """A signature, and what it takes to get there on one axis of a mesh.

    inputs: the moves of each input from where it lies to where the signature has it.
    output: those of the outputs, from where the signature has them to where they are wanted.
    later: where nothing is wanted and the outputs are partial: what it takes at least before anyone can read them.
    """

    signature: Signature
    inputs: tuple[tuple[Move, ...], ...]
    output: tuple[Move, ...]
    later: tuple[Move, ...] = ()

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
    """Every listed signature with its moves, the one of the least cost first; of equals, the one listed first.

    given: how the inputs lie. wanted: how the outputs are to lie; None where they may lie as they come. What comes
    partial costs then what a reduce-scatter moves: a value that nobody has put together cannot be read.
    Raises ValueError for an input without a place, or with one that its shape does not have.
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
        outputs, later = [], []
        for out, shape in zip(signature.outputs, problem.out_shapes, strict=True):
            size = problem.out_type.itemsize
            outputs += moves(out, out if wanted is None else wanted, shape, size, problem.ranks)
            if wanted is None and isinstance(out, Partial):
                later += moves(out, Split(0) if shape else Broadcast(), shape, size, problem.ranks)
        found.append(Choice(signature, steps, tuple(outputs), tuple(later)))
    return sorted(found, key=lambda choice: choice.cost)


def choose(
    problem: Problem,
    signatures: Callable[[Problem], Sequence[Signature]],
    mesh: Sequence[int],
    given: Sequence[Sequence[Sbp]],
    wanted: Sequence[Sbp] | None = None,
) -> list[Choice]:
    """Return the choice for each axis of a mesh.

    problem: whole; its `ranks` is not read.
    signatures: of the operator, for a problem.
    mesh: how many ranks there are along each axis of it.
    given, wanted: one SBP for each axis of the mesh.

    The first axis of the mesh decides first; to the next, the pieces of its first rank are the whole.
    """
    chosen = []
    for axis, ranks in enumerate(mesh):
        here = problem._replace(ranks=ranks)
        target = None if wanted is None else wanted[axis]
        best = choices(here, signatures(here), [places[axis] for places in given], target)[0]
        chosen.append(best)
        problem = here._replace(
            shapes=_first_pieces(here.shapes, best.signature.inputs, ranks),
            out_shapes=_first_pieces(here.out_shapes, best.signature.outputs, ranks),
        )
    return chosen


def _first_pieces(shapes: Sequence[Dims], sbps: Sequence[Sbp], ranks: int) -> list[Dims]:
    return [piece_shape(shape, sbp, ranks, 0) for shape, sbp in zip(shapes, sbps, strict=True)]
