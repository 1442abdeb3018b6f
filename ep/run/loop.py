"""The loop that runs the steps of a plan, in Python: the way of every device that has no other one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ep.include.arrays import Array, Arrays, Placeholder
from ep.run.steps import LISTS, VALUES, Check, Launch, Step, Temporary, Value, View, has_values, sources, values_in


class Queue(NamedTuple):
    """Steps in the form in which a loop runs them, one after the other, on the list of the values of a call.

    The values are the stream, then those that are `fixed`, the operands, and the results from the last to the first.

    fixed: the constants, and a place for each value that is made in a call.
    items: (made by, picked, place, names). For a launch: the primitive, the function that picks the arguments from the
    values, None, and the names of the step, if it has any. For a value that is made, with its place: the function of
    (arrays, values) that makes it, and None; or None, and the shape and the dtype of new memory. Without both, the
    memory of the value in the place is returned.
    """

    fixed: Sequence[Any]
    items: Sequence[tuple[Any, Any, int | None, Mapping[str, str] | None]]


def queued(steps: Sequence[Step]) -> Queue:
    """Return steps in the form of a loop."""
    places = dict[Value, int]()
    begins = dict[int, list[Value]]()  # the values that a step is the first to use, or to use values made of them
    last = dict[Value, int]()  # the last such step
    for number, step in enumerate(steps):
        for one in (source for value in values_in(step) for source in sources(value)):
            if isinstance(one, Placeholder):
                continue
            if one not in places:
                places[one] = 1 + len(places)
                begins.setdefault(number, []).append(one)
            last[one] = number
    ends = dict[int, list[int]]()  # the places of the values that a step is the last to use
    for value, number in last.items():
        ends.setdefault(number, []).append(places[value])
    ends.pop(len(steps) - 1, None)
    fixed: list[Any] = [None] * len(places)
    arguments = list[list[Any]]()  # values, and the places of constants
    for step in steps:
        arguments.append([])
        for one in getattr(step, "arguments", ()):
            is_value = isinstance(one, VALUES) or (type(one) in LISTS and has_values(one))
            if not is_value:
                fixed.append(one)
            arguments[-1].append(one if is_value else len(fixed))
    operands = 1 + len(fixed)

    def place(value: Any) -> Any:
        if type(value) in LISTS:
            return [*map(place, value)]
        if isinstance(value, Placeholder):
            return -1 - value.result if value.number is None else operands + value.number
        return places[value]

    items: list[Any] = []
    for number, step in enumerate(steps):
        for one in begins.get(number, ()):
            if isinstance(one, Temporary):
                items.append((None, (one.shape, one.dtype), places[one], None))
            elif isinstance(one, View):
                items.append((viewing(place(one.source), one), None, places[one], None))
            elif isinstance(one, Check):
                items.append((checking(place(one.indices), one), None, places[one], one.names))
        if isinstance(step, Launch):
            found = [one if type(one) is int else place(one) for one in arguments[number]]
            items.append((step.primitive, picking(found), None, step.names))
        items += [(None, None, ended, None) for ended in ends.get(number, ())]
    return Queue(fixed, items)


def picking(places: Sequence[Any]) -> Callable[[list[Any]], Sequence[Any]]:
    """Return the function that picks the stream, and then the values in some places, or lists of values, from all."""
    picked = [_slice(at) if type(at) is list else at for at in places]
    if None not in picked:
        return itemgetter(0, *picked)
    return lambda values: [
        values[0],
        *(values[at] if type(at) is int else [values[each] for each in at] for at in places),
    ]


def _slice(places: Sequence[int]) -> slice | None:
    """Return the slice of a list that has its elements at some places; None if they are no neighbours."""
    first, step = places[0], 1 if len(places) < 2 else places[1] - places[0]
    end = first + step * len(places)
    if abs(step) != 1 or [*range(first, end, step)] != places:
        return None
    return slice(first, None if first < 0 == end else end, step)


def viewing(source: int, view: View) -> Callable[[Arrays, list[Any]], Array]:
    """Return the function that makes a view of the value in a place."""
    shape, places, axes = view.shape, view.places, view.axes
    if places is axes is None:
        return lambda arrays, values: values[source].reshape(shape)
    return lambda arrays, values: arrays.view(values[source], places, axes, shape)


def checking(place: int, check: Check) -> Callable[[Arrays, list[Any]], Array]:
    """Return the function that checks indices in a place, and returns those that a primitive reads."""
    size, mode = check.size, check.mode
    return lambda arrays, values: arrays.resolved(values[place], size, mode) if values[place].size else values[place]
