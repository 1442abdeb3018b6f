"""The loop that runs the steps of a plan, in Python: the way of every device that has no other one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ep.include.arrays import Arrays, Placeholder
from ep.include.errors import ArgumentError
from ep.run.steps import LISTS, VALUES, Check, Launch, Step, Temporary, Value, View, has_values, sources, values_in


class Queue(NamedTuple):
    """Steps in the form in which a loop runs them, one after the other, on the list of the values of a call.

    The values are the stream, then those that are `fixed`, the operands, and the results from the last to the first.

    fixed: the constants, and a place for each value that is made in a call.
    items: for a launch, the primitive and the function that picks the arguments from the values; for other steps, and
    launches whose lists of arrays are at scattered places, the function that runs it.
    """

    fixed: Sequence[Any]
    items: Sequence[tuple[Any, Any, Callable[[Arrays, list[Any]], None] | None]]


def queued(steps: Sequence[Step]) -> Queue:
    """Return steps in the form of a loop."""
    places = dict[Value, int]()
    begins = dict[int, list[Value]]()  # the values that a step is the first to use, or to use values made of them
    last = dict[Value, int]()  # the last such step
    for number, step in enumerate(steps):
        for value in values_in(step):
            if type(value) is not Placeholder:
                for one in sources(value):
                    if not isinstance(one, Placeholder):
                        if one not in places:
                            places[one] = 1 + len(places)
                            begins.setdefault(number, []).append(one)
                        last[one] = number
    ends = dict[int, list[int]]()  # the places of the values that a step is the last to use
    for value, number in last.items():
        ends.setdefault(number, []).append(places[value])
    ends.pop(len(steps) - 1, None)
    # operands and results may be many, so they take no function call each
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
            if {*map(type, value)} != {Placeholder}:
                return [*map(place, value)]
            return [-1 - one.result if one.number is None else operands + one.number for one in value]
        if isinstance(value, Placeholder):
            return -1 - value.result if value.number is None else operands + value.number
        return places[value]

    items: list[Any] = []

    def add(item: Any, names: Mapping[str, str] | None = None) -> None:
        items.append((None, None, _Renamed(item, names).run if names else item.run))

    for number, step in enumerate(steps):
        for one in begins.get(number, ()):
            if isinstance(one, Temporary):
                add(_Empty(places[one], one))
            elif isinstance(one, View):
                add(_Derive(places[one], place(one.source), one))
            elif isinstance(one, Check):
                add(_Resolve(places[one], place(one.indices), one), one.names)
        if isinstance(step, Launch):
            found = [one if type(one) is int else place(one) for one in arguments[number]]
            picked = list[Any]()
            for at in found:
                picked.append(_slice(at) if type(at) is list else at)
            if None in picked or step.names:
                add(_Nested(step, found), step.names)
            else:
                items.append((step.primitive, itemgetter(0, *picked), None))
        if number in ends:
            add(_Drop(ends[number]))
    return Queue(fixed, items)


def _slice(places: Sequence[int]) -> slice | None:
    """Return the slice of a list that has its elements at some places; None if they are no neighbours."""
    first, step = places[0], 1 if len(places) < 2 else places[1] - places[0]
    end = first + step * len(places)
    if abs(step) != 1 or [*range(first, end, step)] != places:
        return None
    return slice(first, None if first < 0 == end else end, step)


class _Renamed:
    """Another step, whose errors name the operator's arguments."""

    __slots__ = ("_item", "_names")

    def __init__(self, item: Any, names: Mapping[str, str]) -> None:
        self._item, self._names = item, names

    def run(self, arrays: Arrays, values: list[Any]) -> None:
        try:
            self._item.run(arrays, values)
        except ArgumentError as error:
            error.rename(self._names)
            raise


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
    """A launch, also one with lists of arrays among its arguments."""

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
