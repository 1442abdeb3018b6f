"""Plans: what calls compute, as data. A plan is a list of steps: launches of primitives, and checks of indices.

    x = Temporary(shape, dtype)
    Plan(Launch(cast, Placeholder(0), x, count), Launch(reduce, shape, x, axes, RESULT))

The arrays of a plan are values: a `Placeholder` for an operand or a result of the call, a `Temporary`, a `View` of
another value, or the indices that a `Check` returns.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy as shallow_copy
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ep.common.exact import Inexact, exact
from ep.common.lazy import lazy
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, Arrays, Placeholder
from ep.include.errors import ArgumentError
from ep.run.loop import Item, Loop
from ep.run.printed import lines_of, names_of
from ep.run.steps import LISTS, MADE, Call, Check, Launch, Step, StepOrigin, Value, View, has_values, is_repeatable

_OF_OPERATOR: Final = "shapes", "dtype", "names", "_original"
"""What the plan of an operator has besides."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Plan(Loop):
    """The steps of all calls with operands of certain shapes and types. Equal plans are one key.

    steps: in their order. copy: the plan that copies a result, for a plan that reads operands after it has begun to
    write a result; None for others. late: the numbers of these operands. If a result may share memory with one of
    them, it is first written to other memory. shapes, dtype: of the results, if it is the plan of an operator. names:
    the operator's names for arguments that errors of steps name differently.
    """

    steps: Sequence[Step]
    copy: Plan | None
    late: Sequence[int] | None
    shapes: Sequence[Dims]
    dtype: np.dtype[Any]
    names: Mapping[str, str]
    _original: Plan | None

    def __init__(
        self, *steps: Step | Plan, copy: Launch | Plan | None = None, late: Sequence[int] | None = None
    ) -> None:
        """steps: those of a plan are taken over, for the same operands and results. late: all operands by default."""
        found: list[Step] = []
        for one in steps:
            found += one.steps if isinstance(one, Plan) else [one]
        copy, late = None if copy is None else Plan(copy), None if late is None else tuple(late)
        vars(self).update(steps=tuple(found), copy=copy, late=late, _items=[], drafts=None, _original=None)

    def of(self, operands: Sequence[Value], *results: Value, origin: StepOrigin | None = None) -> Plan:
        """Return the plan with other values in the place of its operands and results, as a part of another plan.

        No operand may share memory with a result. origin: of all steps; by default, each keeps its own.
        """
        given = {Placeholder(k): one for k, one in enumerate(operands)}
        given |= {Placeholder(None, k): one for k, one in enumerate(results)}
        known: dict[Any, Any] = {}

        def other(one: Any) -> Any:
            kind = type(one)
            if kind is Placeholder:
                return given.get(one, one)
            if kind in LISTS:
                return [*map(other, one)] if has_values(one) else one
            if kind not in MADE:
                return one
            found = known.get(one)
            if found is None:
                made = kind(*[other(getattr(one, name)) for name in kind.__slots__])
                found = known[one] = replace(made, origin=origin) if origin and kind in (Check, View) else made
            return found

        def other_step(step: Step) -> Step:
            if isinstance(step, Launch):
                arguments = map(other, step.arguments)
                return Launch(step.primitive, *arguments, names=step.names, origin=origin or step.origin)
            if isinstance(step, Call):
                operands, results = map(other, step.arguments)
                return Call(step.function, operands, results, step.returns, step.is_repeatable, origin or step.origin)
            made: Check = other(step)
            return made

        return Plan(*map(other_step, self.steps))

    def for_results(self, shapes: Sequence[Dims], dtype: np.dtype[Any], names: Mapping[str, str]) -> Plan:
        """Return the plan as that of an operator with these results."""
        found = shallow_copy(self)
        vars(found).update(shapes=[*map(tuple, shapes)], dtype=dtype, names=names, _original=self)
        return found

    def compute(self, arrays: Arrays, inputs: Sequence[Array], out: Array | None = None) -> list[Array]:
        """Run the operator on buffers; return the results as `arrays` delivers them."""
        if out is None:
            outputs = [arrays.empty(shape, self.dtype) for shape in self.shapes]
        else:
            outputs = [arrays.destination(self.shapes[0], self.dtype, out)]
        try:
            self(arrays, inputs, outputs)
        except ArgumentError as error:
            error.rename(self.names)
            raise
        return [arrays.delivered(output, out) for output in outputs]

    def __eq__(self, other: object) -> bool:
        """Return whether another plan has the same steps on the same values, whichever objects stand for these.

        Primitives, functions and arrays among the arguments must be the same objects, if they have no equality.
        """
        return self is other or (isinstance(other, Plan) and self._structure == other._structure)

    def __hash__(self) -> int:
        return hash(self._structure)

    @lazy
    def _structure(self) -> Hashable:
        """The plan with a number for each value that it makes, in the order of their first use."""
        numbers: dict[Any, int] = {}

        def key(one: Any) -> Hashable:
            if type(one) in LISTS:
                return type(one), *map(key, one)
            if isinstance(one, MADE):
                if one in numbers:
                    return numbers[one]
                numbers[one] = len(numbers)
            if isinstance(one, (*MADE, Launch, Call)):
                return type(one), *(key(getattr(one, name)) for name in one.__slots__ if name != "origin")
            if isinstance(one, Placeholder):
                return Placeholder, *one
            if isinstance(one, Mapping):
                return frozenset(one.items())
            try:
                return exact(one)
            except Inexact:
                return (type(one), one) if isinstance(one, Hashable) else id(one)

        return *map(key, self.steps), self.copy, self.late

    @lazy
    def is_repeatable(self) -> bool:
        """Whether a recording has all that the steps do."""
        return all(map(is_repeatable, self.steps))

    def _bound(self) -> list[Item]:
        if self.drafts is None:  # plans that are only parts of others never run; of two threads, each may do this
            if self._original is None:
                vars(self).update(vars(Loop(self.steps)))
            else:  # a kernel has one plan for all calls of some shapes
                self._original._bound()
                vars(self).update({**vars(self._original), **{name: vars(self)[name] for name in _OF_OPERATOR}})
        return super()._bound()

    def __str__(self) -> str:
        """Return a line for each step."""
        return "\n".join(lines_of(self.steps, names_of(self.steps)))
