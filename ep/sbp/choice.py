"""Deduction: the signatures that move the fewest bytes until the result can be read, one for each axis of a mesh."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ep.sbp.pieces import piece_shape
from ep.sbp.routes import Step, route, sent
from ep.sbp.sbp import Broadcast, Partial, Sbp, Split
from ep.sbp.signature import Dims, HasSignatures, Problem, SbpSignature

Places = tuple[Sbp, ...]


class Choice(NamedTuple):
    """Signatures, one for each axis of a mesh, and the steps that they need.

    inputs: for each input, the steps from its given SBPs to those of the signatures.
    output: the steps of the outputs from the SBPs of the signatures to the wanted ones.
    later: if no SBP is wanted and outputs are partial: the least steps needed before anyone can read them.
    to_all: if no SBP is wanted: the bytes needed until every rank has all of the outputs.
    """

    signatures: tuple[SbpSignature, ...]
    inputs: tuple[tuple[Step, ...], ...]
    output: tuple[Step, ...]
    later: tuple[Step, ...] = ()
    to_all: int = 0

    @property
    def bytes(self) -> int:
        """The bytes that all ranks together send."""
        return sum(map(sent, (*self.inputs, self.output)))

    @property
    def cost(self) -> int:
        """The cost by which choices are compared: the bytes sent now, and those sent before the outputs can be read."""
        return self.bytes + sent(self.later)

    def __str__(self) -> str:
        return "; ".join(map(str, self.signatures))


def choices(
    operator: HasSignatures,
    problem: Problem,
    mesh: Sequence[int],
    given: Sequence[Sequence[Sbp]],
    wanted: Sequence[Sbp] | None = None,
) -> list[Choice]:
    """Return every choice that the operator lists for a mesh, with the bytes that it moves, by increasing cost.

    problem: of whole tensors; its `ranks` is not read.
    mesh: the number of ranks along each of its axes.
    given: the SBPs of the inputs, one for each axis of the mesh. wanted: the SBPs of the outputs, likewise; None: any.
        A partial output then costs the bytes of a reduce-scatter: its value cannot be read until it is reduced.

    Among equal costs, the choice whose outputs are nearest to broadcast comes first, so that broadcast tensors stay
    broadcast; then the one listed first. Raises ValueError if an input has no SBP, or one that its shape does not
    allow.
    """
    if len(given) != len(problem.shapes):
        raise ValueError(f"there are {len(problem.shapes)} inputs, and {len(given)} placements were given")
    for position, (sbps, shape) in enumerate(zip(given, problem.shapes, strict=True)):
        for sbp in sbps:
            sbp.check(shape, f"input {position}")
    for sbp in wanted or ():
        for shape in problem.out_shapes:
            sbp.check(shape, "the output")

    @cache
    def way(source: Places, target: Places, shape: Dims, itemsize: int) -> tuple[Step, ...]:
        return tuple(route(source, target, shape, itemsize, mesh))

    targets = None if wanted is None else tuple(wanted)
    found = [
        _choice(problem, signatures, [tuple(sbps) for sbps in given], targets, way)
        for signatures in _listed(operator, problem, mesh)
    ]
    return sorted(found, key=lambda choice: (choice.cost, choice.to_all))


def choose(
    operator: HasSignatures,
    problem: Problem,
    mesh: Sequence[int],
    given: Sequence[Sequence[Sbp]],
    wanted: Sequence[Sbp] | None = None,
) -> Choice:
    """Return the first of `choices`."""
    return choices(operator, problem, mesh, given, wanted)[0]


def _choice(
    problem: Problem,
    signatures: tuple[SbpSignature, ...],
    given: Sequence[Places],
    wanted: Places | None,
    way: Callable[[Places, Places, Dims, int], tuple[Step, ...]],
) -> Choice:
    inputs = tuple(
        way(source, tuple(one.inputs[position] for one in signatures), shape, data_type.itemsize)
        for position, (source, shape, data_type) in enumerate(zip(given, problem.shapes, problem.types, strict=True))
    )
    output: list[Step] = []
    later: list[Step] = []
    to_all, size = 0, problem.out_type.itemsize
    for position, shape in enumerate(problem.out_shapes):
        out = tuple(one.outputs[position] for one in signatures)
        if wanted is not None:
            output += way(out, wanted, shape, size)
            continue
        read: Sbp = Split(0) if shape else Broadcast()
        later += way(out, tuple(read if isinstance(one, Partial) else one for one in out), shape, size)
        to_all += sent(way(out, (Broadcast(),) * len(out), shape, size))
    return Choice(signatures, inputs, tuple(output), tuple(later), to_all)


def _listed(
    operator: HasSignatures, problem: Problem, mesh: Sequence[int], before: tuple[SbpSignature, ...] = ()
) -> Iterator[tuple[SbpSignature, ...]]:
    """Yield every combination of signatures, one for each axis of the mesh."""
    if len(before) == len(mesh):
        yield before
        return
    for signature in signatures_on_axis(operator, problem, before, mesh):
        yield from _listed(operator, problem, mesh, (*before, signature))


def signatures_on_axis(
    operator: HasSignatures, problem: Problem, before: Sequence[SbpSignature], mesh: Sequence[int]
) -> list[SbpSignature]:
    """Return the signatures that are valid along an axis of a mesh on all of its ranks.

    before: the signatures of the axes before it.
    """
    first = problem_on_axis(operator, problem, before, mesh, (0,) * len(before))
    last = problem_on_axis(operator, problem, before, mesh, [ranks - 1 for ranks in mesh[: len(before)]])
    also = operator.signatures(last) if before else None
    return [one for one in operator.signatures(first) if also is None or one in also]


def problem_on_axis(
    operator: HasSignatures,
    problem: Problem,
    before: Sequence[SbpSignature],
    mesh: Sequence[int],
    coordinates: Sequence[int],
) -> Problem:
    """Return the problem along an axis of a mesh, in which the whole is the piece of the rank at `coordinates`.

    before: the signatures of the axes before it; if these are all axes, the result is the problem of one rank.
    coordinates: of the rank along the axes before it.
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
