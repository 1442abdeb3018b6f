"""Ops on rows, in parts: the maps and reductions that compute the same."""

from __future__ import annotations

from typing import Final

from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import RowOp, Step, Structure
from ep.include.primitive.unary_op import UnaryOp

_EXPONENTIALS: Final = (
    *((ReduceOp.kMax, (0,)), (BinaryOp.kSub, (0, 1))),
    *((UnaryOp.kExp, (2,)), (ReduceOp.kSum, (3,))),
)
PARTS: Final = {
    RowOp.kSoftmax: (*_EXPONENTIALS, (BinaryOp.kDiv, (3, 4))),
    RowOp.kLogSoftmax: (*_EXPONENTIALS, (UnaryOp.kLog, (4,)), (BinaryOp.kSub, (2, 5))),
}
"""The ops that compute an op on rows, in float64, with the numbers of their operands: 0 is its own operand."""


def in_parts(structure: Structure) -> Structure:
    """Return the structure that computes the same without the ops of `PARTS`."""
    num_read = len(structure.sources) + len(structure.constants)
    numbers, steps = [*range(num_read)], list[Step]()

    def add(step: Step) -> int:
        steps.append(step)
        return num_read + len(steps) - 1

    for step in structure.steps:
        step = step._replace(operands=tuple(numbers[operand] for operand in step.operands))
        if isinstance(step.op, RowOp) and step.op in PARTS:
            values = [add(Step(UnaryOp.kCast, step.operands, DataType.kDouble))]
            for op, places in PARTS[step.op]:
                values.append(add(Step(op, tuple(values[place] for place in places), DataType.kDouble)))
            step = step._replace(op=UnaryOp.kCast, operands=(values[-1],))
        numbers.append(add(step))
    return structure._replace(steps=tuple(steps), results=tuple(numbers[value] for value in structure.results))
