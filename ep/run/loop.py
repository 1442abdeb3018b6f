"""The loop that runs the steps of a plan, in Python: the way of every device that has no other one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ep.include.arrays import Arrays, Placeholder
from ep.run.steps import VALUES, Check, Launch, Step, Temporary, Value, View, has_values, sources, values_in


class Queue(NamedTuple):
    """Steps in the form in which a loop runs them, one after the other, on the list of the values of a call.

    The values are the stream, then those that are `fixed`, the operands, and the results from the last to the first.

    fixed: the constants, and a place for each value that is made in a call.
    items: for each launch whose arrays are arguments, the primitive and the function that picks the arguments from the
    values; for other steps, the function that runs it.
    """

    fixed: Sequence[Any]
    items: Sequence[tuple[Any, Any, Callable[[Arrays, list[Any]], None] | None]]


def queued(steps: Sequence[Step]) -> Queue:
    """Return steps in the form of a loop."""
    places = dict[Value, int]()
    first, last = dict[Value, int](), dict[Value, int]()  # the steps that use a value, or one made of it
    for number, step in enumerate(steps):
        used = [step] if isinstance(step, Check) else values_in(step.arguments)
        for one in (source for each in used for source in sources(each)):
            if not isinstance(one, Placeholder):
                first.setdefault(one, number)
                last[one] = number
                places.setdefault(one, 1 + len(places))
    fixed: list[Any] = [None] * len(places)

    def constant_or_values(argument: Any) -> Any:
        if isinstance(argument, VALUES) or has_values(argument):
            return argument
        fixed.append(argument)
        return len(fixed)

    arguments = [[*map(constant_or_values, getattr(step, "arguments", ()))] for step in steps]
    operands = 1 + len(fixed)

    def place(value: Any) -> Any:
        if has_values(value):
            return [*map(place, value)]
        if isinstance(value, Placeholder):
            return -1 - value.result if value.number is None else operands + value.number
        return value if type(value) is int else places[value]

    items: list[Any] = []

    def add(step: Any) -> None:
        items.append((None, None, step.run))

    for number, step in enumerate(steps):
        for one in (value for value, use in first.items() if use == number):
            if isinstance(one, Temporary):
                add(_Empty(places[one], one))
            elif isinstance(one, View):
                add(_Derive(places[one], place(one.source), one))
            elif isinstance(one, Check):
                add(_Resolve(places[one], place(one.indices), one))
        if isinstance(step, Launch):
            found = [*map(place, arguments[number])]
            if all(type(one) is int for one in found):
                items.append((step.primitive, itemgetter(0, *found), None))
            else:
                add(_Nested(step, found))
        ended = [places[value] for value, use in last.items() if use == number < len(steps) - 1]
        if ended:
            add(_Drop(ended))
    return Queue(fixed, items)


class _Empty:
    """Gets the memory of a temporary value."""

    __slots__ = ("_dtype", "_place", "_shape")

    def __init__(self, place: int, value: Temporary) -> None:
        self._place, self._shape, self._dtype = place, value.shape, value.dtype

    def run(self, arrays: Arrays, values: list[Any]) -> None:
        values[self._place] = arrays.empty(self._shape, self._dtype)


class _Derive:
    """Makes a view."""

    __slots__ = ("_place", "_source", "_view")

    def __init__(self, place: int, source: int, view: View) -> None:
        self._place, self._source, self._view = place, source, view

    def run(self, arrays: Arrays, values: list[Any]) -> None:
        source, view = values[self._source], self._view
        if view.places is None and view.axes is None:
            values[self._place] = source.reshape(view.shape)
        else:
            values[self._place] = arrays.view(source, view.places, view.axes, view.shape)


class _Resolve:
    """Checks indices."""

    __slots__ = ("_check", "_indices", "_place")

    def __init__(self, place: int, indices: int, check: Check) -> None:
        self._place, self._indices, self._check = place, indices, check

    def run(self, arrays: Arrays, values: list[Any]) -> None:
        indices = values[self._indices]
        values[self._place] = arrays.resolved(indices, self._check.size, self._check.mode) if indices.size else indices


class _Nested:
    """A launch with lists of arrays among its arguments."""

    __slots__ = ("_places", "_primitive")

    def __init__(self, step: Launch, places: Sequence[Any]) -> None:
        self._primitive, self._places = step.primitive, places

    def run(self, arrays: Arrays, values: list[Any]) -> None:
        found = [values[one] if type(one) is int else [values[each] for each in one] for one in self._places]
        self._primitive.Launch(values[0], *found)


class _Drop:
    """Gives back the memory of values that no later step reads."""

    __slots__ = ("_places",)

    def __init__(self, places: Sequence[int]) -> None:
        self._places = places

    def run(self, arrays: Arrays, values: list[Any]) -> None:
        for one in self._places:
            values[one] = None
