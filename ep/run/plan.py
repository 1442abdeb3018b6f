"""Plans: what calls compute, as data. A plan is a list of steps: launches of primitives, and checks of indices.

    x = Temporary(shape, dtype)
    Plan(Launch(cast, Placeholder(0), x, count), Launch(reduce, shape, x, axes, RESULT))

The arrays of a plan are values: a `Placeholder` for an operand or a result of the call, a `Temporary`, a `View` of
another value, or the indices that a `Check` returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ep.common.lazy import lazy
from ep.include.arrays import Array, Arrays, Placeholder
from ep.run.loop import Queue, queued
from ep.run.steps import VALUES, Check, Function, Launch, Step, Temporary, Value, View, has_values, sources, values_in


class Single(NamedTuple):
    """The one launch of a plan, and the operand that is checked before it: its number, and the size of its axis."""

    launch: Launch
    indices: tuple[int, int] | None


class Plan:
    """The steps of all calls with operands of certain shapes and types. It is never changed.

    steps: in their order. copy: the launch that copies a result, for a plan that reads an operand after it has begun to
    write a result; None for others. If a result may share memory with an operand, it is first written to other memory.
    """

    def __init__(self, *steps: Step | Plan, copy: Launch | None = None) -> None:
        """steps: those of a plan are taken over, for the same operands and results."""
        found: list[Step] = []
        for one in steps:
            found += one.steps if isinstance(one, Plan) else [one]
        self.steps: Sequence[Step] = tuple(found)
        self.copy = copy

    def of(self, operands: Sequence[Value], *results: Value) -> Plan:
        """Return the plan with other values in the place of its operands and results, as a part of another plan."""
        given = {Placeholder(k): one for k, one in enumerate(operands)}
        given |= {Placeholder(None, k): one for k, one in enumerate(results)}
        known: dict[Any, Any] = {}

        def other(value: Any) -> Any:
            if isinstance(value, list | tuple) and not isinstance(value, Placeholder):
                return [other(one) for one in value] if has_values(value) else value
            if not isinstance(value, VALUES):
                return value
            if isinstance(value, Placeholder):
                return given.get(value, value)
            found = known.get(value)
            if found is None:
                if isinstance(value, Temporary):
                    found = Temporary(value.shape, value.dtype)
                elif isinstance(value, View):
                    found = View(other(value.source), value.shape, value.places, value.axes)
                else:
                    found = Check(other(value.indices), value.size, value.mode)
                known[value] = found
            return found

        return Plan(
            *(
                Launch(one.primitive, *map(other, one.arguments)) if isinstance(one, Launch) else other(one)
                for one in self.steps
            )
        )

    @property
    def single(self) -> Single | None:
        """The launch of a plan that has one, on operands and a result as they are; None for other plans."""
        *checks, last = self.steps or (None,)
        if self.copy is not None or not isinstance(last, Launch) or any(map(has_values, last.arguments)):
            return None
        if not all(isinstance(one, Placeholder) for one in values_in(last.arguments)):
            return None
        if not checks:
            return Single(last, None)
        indices = _indices(checks[0]) if len(checks) == 1 else None
        return indices and Single(last, indices)

    def __call__(self, arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Queue the steps. arrays: those of the device. inputs, outputs: the operands and the results."""
        copy = self.copy
        if copy is not None and _share_memory(arrays, inputs, outputs):
            written = [arrays.empty(one.shape, one.dtype) for one in outputs]
            Plan(*self.steps)(arrays, inputs, written)
            for one, out in zip(written, outputs, strict=True):
                Plan(copy)(arrays, [one], [out])
            return
        fixed, queue = self._queued
        values = [arrays.stream, *fixed, *inputs, *outputs[::-1]]
        for primitive, pick, run in queue:
            if run is None:
                primitive.Launch(*pick(values))
            else:
                run(arrays, values)

    def __str__(self) -> str:
        """Return a line for each step."""
        return "\n".join(_lines(self.steps))

    @lazy
    def _queued(self) -> Queue:
        return queued(self.steps)


def _indices(step: Step) -> tuple[int, int] | None:
    """Return the number of an operand, and the size of its axis, for a step that requires all its indices to be there;
    None for other steps."""
    if not isinstance(step, Check) or step.mode != "raise" or not isinstance(step.indices, Placeholder):
        return None
    number = step.indices.number
    return None if number is None else (number, step.size)


def _share_memory(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> bool:
    """Return whether a result may share memory with an operand; in launches that repeat it does not."""
    if arrays.repeats:
        return False
    for out in outputs:
        for one in inputs:
            if arrays.may_share_memory(one, out):
                return True
    return False


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
        used = [step] if isinstance(step, Check) else values_in(step.arguments)
        for one in (source for each in used for source in sources(each)):
            if isinstance(one, Placeholder) or one in names:
                continue
            names[one] = f"{type(one).__name__[0].lower()}{len(names)}"
            if isinstance(one, Temporary):
                yield f"{names[one]} = empty({one.shape}, {one.dtype})"
            elif isinstance(one, View):
                shown = f"{one.shape}" if one.places is one.axes is None else f"{one.places}, {one.axes}, {one.shape}"
                yield f"{names[one]} = view({name(one.source)}, {shown})"
            else:
                yield f"{names[one]} = check({name(one.indices)}, {one.size}, {one.mode!r})"
        if isinstance(step, Launch):
            primitive = step.primitive
            launcher: Any = primitive.Launch if isinstance(primitive, Function) else type(primitive)
            yield f"{launcher.__qualname__}({', '.join(map(name, step.arguments))})"
