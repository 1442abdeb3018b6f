"""Plans: what calls compute, as data. A plan is a list of steps: launches of primitives, and checks of indices.

    x = Temporary(shape, dtype)
    Plan(Launch(cast, Placeholder(0), x, count), Launch(reduce, shape, x, axes, RESULT))

The arrays of a plan are values: a `Placeholder` for an operand or a result of the call, a `Temporary`, a `View` of
another value, or the indices that a `Check` returns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ep.common.exact import Inexact, exact
from ep.common.lazy import lazy
from ep.include.arrays import Placeholder
from ep.run.loop import Item, Loop
from ep.run.steps import (
    LISTS,
    MADE,
    VALUES,
    Call,
    Check,
    Converted,
    Launch,
    Step,
    Temporary,
    Value,
    View,
    has_values,
    is_repeatable,
    sources,
    values_in,
)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Plan(Loop):
    """The steps of all calls with operands of certain shapes and types. Equal plans are one key.

    steps: in their order. copy: the plan that copies a result, for a plan that reads operands after it has begun to
    write a result; None for others. late: the numbers of these operands. If a result may share memory with one of
    them, it is first written to other memory.
    """

    steps: Sequence[Step]
    copy: Plan | None
    late: Sequence[int] | None

    def __init__(
        self, *steps: Step | Plan, copy: Launch | Plan | None = None, late: Sequence[int] | None = None
    ) -> None:
        """steps: those of a plan are taken over, for the same operands and results. late: all operands by default."""
        found: list[Step] = []
        for one in steps:
            found += one.steps if isinstance(one, Plan) else [one]
        copy, late = None if copy is None else Plan(copy), None if late is None else tuple(late)
        vars(self).update(steps=tuple(found), copy=copy, late=late, _items=[], drafts=None)

    def of(self, operands: Sequence[Value], *results: Value) -> Plan:
        """Return the plan with other values in the place of its operands and results, as a part of another plan.

        No operand may share memory with a result.
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
                found = known[one] = kind(*[other(getattr(one, name)) for name in kind.__slots__])
            return found

        def other_step(step: Step) -> Step:
            if isinstance(step, Launch):
                return Launch(step.primitive, *map(other, step.arguments), names=step.names)
            if isinstance(step, Call):
                operands, results = map(other, step.arguments)
                return Call(step.function, operands, results, step.returns, step.is_repeatable)
            made: Check = other(step)
            return made

        return Plan(*map(other_step, self.steps))

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
                return type(one), *(key(getattr(one, name)) for name in one.__slots__)
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
            vars(self).update(vars(Loop(self.steps)))
        return super()._bound()

    def __str__(self) -> str:
        """Return a line for each step."""
        return "\n".join(_lines(self.steps))


def _lines(steps: Sequence[Step]) -> Iterator[str]:
    """Yield a line for each step, and for each value that one makes."""
    names: dict[Any, str] = {}

    def name(value: Any) -> str:
        if has_values(value):
            return f"[{', '.join(map(name, value))}]"
        if isinstance(value, Placeholder):
            return f"out{value.result or ''}" if value.number is None else f"x{value.number}"
        return names[value] if isinstance(value, VALUES) else str(value)

    for step in steps:
        for one in (source for each in values_in(step) for source in sources(each)):
            if isinstance(one, Placeholder) or one in names:
                continue
            names[one] = f"{type(one).__name__[0].lower()}{len(names)}"
            if isinstance(one, Temporary):
                yield f"{names[one]} = empty({one.shape}, {one.dtype})"
            elif isinstance(one, View):
                shown = f"{one.shape}" if one.places is one.axes is None else f"{one.places}, {one.axes}, {one.shape}"
                yield f"{names[one]} = view({name(one.source)}, {shown})"
            elif isinstance(one, Converted):
                yield f"{names[one]} = {'filled' if one.is_number else 'as_buffer'}({name(one.source)})"
            else:
                yield f"{names[one]} = check({name(one.indices)}, {one.size}, {one.mode!r})"
        if isinstance(step, Call):
            operands, results = (f"[{', '.join(map(name, some))}]" for some in step.arguments)
            yield f"{step.name}({operands}, {results})"
        if isinstance(step, Launch):
            yield f"{step.name}({', '.join(map(name, step.arguments))})"
