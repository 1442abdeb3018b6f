"""Steps that pad arrays and write out their windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ep.common.primitive.broadcast import Dims, simplify_strided
from ep.common.primitive.strides import contiguous_strides
from ep.common.primitive.windows import Windows
from ep.include.arrays import RESULT, Placeholder
from ep.include.data_type import DataType
from ep.include.primitive.constant_pad import ConstantPadFactory
from ep.include.primitive.expand import ExpandFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.ops.kernels import Launch, Need, Plan, Subject, Temporary, Value, data_type, primitive_exists
from ep.ops.kernels.conditions import All
from ep.ops.kernels.conditions import Value as SubjectValue


class Move(NamedTuple):
    """One step that computes an array of `shape` from another: a plan of one operand and one result."""

    shape: Dims
    plan: Plan


class WindowMoves:
    """The moves that pad arrays of one type and write out windows."""

    def __init__(self, dtype: Any, pad: Any, expand: Any) -> None:
        """dtype: of the arrays. pad, expand: the primitives of this type."""
        self.dtype, self._pad, self._expand = dtype, pad, expand

    def padding(self, planes: Dims, found: Windows, value: float = 0) -> Iterator[Move]:
        """Yield the move that pads planes with one value, if there is padding."""
        if found.has_padding:
            nothing = (0,) * len(planes)
            yield self.padded((*planes, *found.sizes), (*nothing, *found.before), (*nothing, *found.after), value)

    def padded(self, shape: Dims, before: Dims, after: Dims, value: float = 0) -> Move:
        """Return the move that adds numbers before and after the axes of an array, or removes elements there."""
        sizes = tuple(map(sum, zip(shape, before, after, strict=True)))
        return Move(sizes, Plan(Launch(self._pad, shape, Placeholder(0), before, after, value, RESULT)))

    def writing(self, planes: Dims, found: Windows) -> Iterator[Move]:
        """Yield the move that writes the windows of padded planes, unless they are the elements themselves."""
        if not found.is_whole:
            shape = (*planes, *found.kernel, *found.counts)
            yield Move(shape, self.strided(shape, found.walk(planes), contiguous_strides(shape)))

    def strided(self, shape: Dims, src_strides: Dims, dst_strides: Dims) -> Plan:
        """Return a launch that copies `shape` elements, no size 0, between two arrays with the given strides."""
        dims, src_strides, dst_strides = simplify_strided(shape, src_strides, dst_strides)
        return Plan(Launch(self._expand, dims, Placeholder(0), dims, RESULT, src_strides, dst_strides))

    def copy(self, count: int) -> Plan:
        """Return a launch that copies `count` elements."""
        return self.strided((count,), (1,), (1,))

    def moved(self, steps: list[Any], value: Value, moves: Iterable[Move]) -> Value:
        """Add consecutive moves of a value to the steps of a plan, and return the last one's result."""
        for shape, plan in moves:
            source, value = value, Temporary(shape, self.dtype)
            steps.append(plan.of([source], value))
        return value

    def chain(self, shape: Dims, moves: Iterable[Move]) -> Plan:
        """Return the plan of consecutive moves from an array of `shape` to the result; a copy without moves."""
        same = contiguous_strides(shape)
        *first, last = [*moves] or [Move(shape, self.strided(shape, same, same))]
        if not first:
            return last.plan
        steps = list[Any]()
        moved = self.moved(steps, Placeholder(0), first)
        return Plan(*steps, last.plan.of([moved], RESULT))


@dataclass(frozen=True, eq=False)
class MovesExist(All, Need):
    """The result of `moves_exist`: a condition, which also makes the moves."""

    conditions: tuple[Need, ...]
    kind: SubjectValue | DataType

    def make(self, subject: Subject) -> WindowMoves:
        """Return the moves of a subject."""
        kind = self.kind.of(subject) if isinstance(self.kind, SubjectValue) else self.kind
        return WindowMoves(kind.dtype, *(one.make(subject) for one in self.conditions))


def moves_exist(kind: SubjectValue | DataType) -> MovesExist:
    """Return the condition that there are moves of arrays of a type, or of that of an operand of the subject."""
    return MovesExist(
        (primitive_exists(ConstantPadFactory, kind), primitive_exists(ExpandFactory, kind, kMaxNumDims)), kind
    )


MOVES: Final = moves_exist(data_type("out"))
