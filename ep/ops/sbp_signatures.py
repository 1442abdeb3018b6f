"""Rows of signatures that several families of operators have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ep.common.primitive.broadcast import Dims
from ep.include.data_type import DataType
from ep.include.number_kind import BOOL, COMPLEXES
from ep.sbp import Broadcast, PartialMax, PartialMin, PartialSum, Problem, Sbp, SbpSignature, Split

B: Final = Broadcast()
P: Final = PartialSum()
PMAX: Final = PartialMax()
PMIN: Final = PartialMin()


def signature(*places: Sbp) -> SbpSignature:
    """Return a signature of an operator with one output, which is the last argument."""
    return SbpSignature(places[:-1], places[-1:])


def partials_of(data_type: DataType) -> tuple[Sbp, ...]:
    """Return the partials that values of a type have: a sum of bool is PMax, and complex numbers have no order."""
    if data_type in BOOL:
        return PMAX, PMIN
    return (P,) if data_type in COMPLEXES else (P, PMAX, PMIN)


def sum_of(data_type: DataType) -> Sbp:
    """Return the partial of pieces of which all but one are zeros or false."""
    return PMAX if data_type in BOOL else P


def moved_signatures(problem: Problem, axes: Mapping[int, int]) -> Iterator[SbpSignature]:
    """Yield the rows of operators that move all inputs in one way: input axis i becomes `axes[i]`; partials stay."""
    num_inputs, num_outputs = len(problem.shapes), len(problem.out_shapes)
    for source, target in axes.items():
        yield SbpSignature((Split(source),) * num_inputs, (Split(target),) * num_outputs)
    for partial in partials_of(problem.types[0]):
        yield SbpSignature((partial,) * num_inputs, (partial,) * num_outputs)


def signatures_beside(problem: Problem) -> Iterator[SbpSignature]:
    """Yield the rows of operators that work along the attribute `axis`: all arrays are split along another one."""
    for axis in range(len(problem.shapes[0])):
        if axis != problem.attributes["axis"]:
            yield SbpSignature((Split(axis),) * len(problem.shapes), (Split(axis),) * len(problem.out_shapes))


def broadcast_signatures(problem: Problem) -> Iterator[SbpSignature]:
    """Yield the rows of operands that broadcast: along a split axis, operands of size 1 or without it are not split."""
    (shape,) = problem.out_shapes
    for axis, size in enumerate(shape):
        places = [_place(operand, axis - len(shape), size) for operand in problem.shapes]
        if any(isinstance(place, Split) for place in places):
            yield signature(*places, Split(axis))


def _place(operand: Dims, axis: int, size: int) -> Sbp:
    """Return the SBP of an operand if the result is split along `axis`, counted from the last."""
    has_it = -axis <= len(operand) and operand[axis] == size
    return Split(axis + len(operand)) if has_it else B
