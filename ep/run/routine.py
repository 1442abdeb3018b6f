"""The loop that runs the plan of a program, in Python: its arrays may be in memory that is known in advance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Final

import numpy as np

from ep.include.arrays import Array, Arrays, Placeholder
from ep.include.errors import ArgumentError
from ep.run.loop import checking, picking, viewing
from ep.run.steps import (
    VALUES,
    Call,
    Check,
    Converted,
    Step,
    Temporary,
    Value,
    View,
    has_values,
    sources,
    values_in,
)

_FIRST: Final = 2
"""The place of the first array among the values of a call. Those before it are the stream, and the function that frees
the memory of operators."""


class Routine:
    """The steps of a program in the form in which a loop runs them, on the list of the values of a call: arrays in
    given memory, then the inputs, then constants and what is made in the call.

    num_launches: how often `launched` is called.
    """

    def __init__(
        self,
        steps: Sequence[tuple[int, Step]],
        num_inputs: int,
        returned: Sequence[Any],
        *,
        own: AbstractSet[Temporary],
        placed: Sequence[Value] | None,
        given: Mapping[int, Temporary],
        launching: AbstractSet[int],
        on_device: bool,
    ) -> None:
        """steps: with the numbers of their groups. returned: values and constants. own: the temporary values of the
        program itself; the others are those of operators. placed: the values in given memory; None for a program
        without. given: results that the caller may give, by position. launching: the groups that count as launches.
        on_device: whether its arrays are those of a device: others have no stream."""
        self._places: dict[Any, int] = {one: _FIRST + k for k, one in enumerate(placed or ())}
        self._inputs = _FIRST + len(self._places)
        self._end = self._inputs + num_inputs
        self._own, self._has_memory = own, placed is not None
        self._on_device = on_device
        self._rest: list[Any] = [None] * len(given)
        self._places |= {one: self._end + k for k, one in enumerate(given.values())}
        # the group, a function and what it gets, and the places of values that no later step reads: see `run`
        self._items: list[tuple[int, Any, Any, Any, list[int]]] = []
        self._names = dict[int, Mapping[str, str]]()  # of arguments in errors, by the numbers of items
        last: dict[Any, int] = {}
        for number, (_, step) in enumerate(steps):
            last.update(dict.fromkeys(_used(step), number))
        last.update(dict.fromkeys((each for one in returned for each in _made_of(one)), len(steps)))
        placed_or_given = {*self._places}
        ended: list[list[Value]] = [[] for _ in range(len(steps) + 1)]
        for one, number in last.items():
            if not isinstance(one, Placeholder) and one not in placed_or_given:
                ended[number].append(one)
        ends, begun = dict[int, int](), -1
        for number, (group, step) in enumerate(steps):
            if self._has_memory and group != begun and self._needs_work(step):
                self._add(group, _begin)
                begun = group
            if isinstance(step, Call) and step.returns:
                for one in step.arguments[1]:
                    self._reserve(one)
            self._make(group, _used(step))
            self._add_step(group, step)
            self._items[-1][-1].extend(self._places[one] for one in ended[number])
            if group in launching:
                ends[group] = len(self._items)
        for value in returned:
            self._make(-1, _made_of(value))
        self._returned = [*map(self._place, returned)]
        self._given = [(position, self._place(one), one.shape, one.dtype) for position, one in given.items()]
        self._ends, self.num_launches = {*ends.values()}, len(ends)

    def run(
        self,
        base: Any,
        inputs: Sequence[Array],
        direct: Mapping[int, Array],
        arena: Any,
        launched: Callable[[], None] | None = None,
    ) -> list[Array]:
        """Run the steps; return the results. direct: arrays for values that may be given. arena: has the arrays in
        memory. launched: is called after each launch. `group_of` has the group whose step raised an error.
        """
        work, begin, arrays = (base, None, ()) if arena is None else (arena.work, arena.begin, arena.arrays)
        values = [base.stream if self._on_device else None, begin, *arrays, *inputs, *self._rest]
        for position, place, shape, dtype in self._given:
            values[place] = direct[position] if position in direct else base.empty(shape, dtype)
        item: Any = None
        empty: Any = base.empty if self._on_device else None
        try:
            for item in self._items if launched is None else self._told(launched):
                _, launch, pick, detail, ended = item
                if launch is not None:
                    launch(*pick(values))
                elif pick is not None:
                    pick(work if detail else base, values)
                elif detail is not None:
                    place, shape, dtype = detail
                    values[place] = empty(shape, dtype)
                for one in ended:
                    values[one] = None
        except Exception as error:
            number = next((number for number, one in enumerate(self._items) if one is item), -1)
            if isinstance(error, ArgumentError):
                error.rename(self._names.get(number, {}))
            error.ep_group = self, item[0]  # type: ignore[attr-defined]
            raise
        return [*map(values.__getitem__, self._returned)]

    def group_of(self, error: BaseException) -> int:
        """Return the number of the group whose step raised an error; -1 if none did."""
        routine, group = getattr(error, "ep_group", (None, -1))
        return group if routine is self else -1

    def _told(self, launched: Callable[[], None]) -> list[tuple[int, Any, Any, Any, list[int]]]:
        """Return the items with calls after launches."""
        found = list[tuple[int, Any, Any, Any, list[int]]]()
        for number, item in enumerate(self._items, 1):
            found.append(item)
            if number in self._ends:
                found.append((item[0], launched, _nothing, None, []))
        return found

    def _add(
        self,
        group: int,
        run: Callable[[Arrays, list[Any]], None],
        *,
        works: bool = False,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self._note_names(names)
        self._items.append((group, None, run, works, []))

    def _note_names(self, names: Mapping[str, str] | None) -> None:
        """Note the names of arguments in errors of the next item, if it has its own."""
        if names:
            self._names[len(self._items)] = names

    def _needs_work(self, step: Step) -> bool:
        """Return whether a step has arrays of an operator."""
        if isinstance(step, Call):
            return True
        made = [one for one in _used(step) if one not in self._places and one not in self._own]
        return any(isinstance(one, Temporary | Check) for one in made)

    def _make(self, group: int, values: Sequence[Value]) -> None:
        """Add what makes values that have not been made yet."""
        for one in values:
            if isinstance(one, Placeholder) or one in self._places:
                continue
            place = self._reserve(one)
            if isinstance(one, Temporary) and one in self._own:
                self._items.append((group, None, None, (place, one.shape, one.dtype), []))
            elif isinstance(one, Temporary):
                self._add(group, _made(place, partial(_empty, one.shape, one.dtype)), works=True)
            elif isinstance(one, View):
                self._add(group, _made(place, viewing(self._place(one.source), one)))
            elif isinstance(one, Converted):
                self._add(group, _made(place, partial(_converted, self._place(one.source), one.is_number)))
            else:
                self._add(group, _made(place, checking(self._place(one.indices), one)), works=True, names=one.names)

    def _reserve(self, value: Value) -> int:
        self._rest.append(None)
        place = self._places[value] = self._end + len(self._rest) - 1
        return place

    def _place(self, value: Any) -> int:
        if isinstance(value, Placeholder):
            assert value.number is not None
            return self._inputs + value.number
        if isinstance(value, VALUES):
            return self._places[value]
        self._rest.append(value)
        return self._end + len(self._rest) - 1

    def _add_step(self, group: int, step: Step) -> None:
        if isinstance(step, Check):
            self._items.append((group, None, None, None, []))  # it is made
            return
        if isinstance(step, Call):
            places = [[*map(self._place, some)] for some in step.arguments]
            self._add(group, _Called(step, *places).run, works=not step.returns)
            return
        found = [[*map(self._place, one)] if has_values(one) else self._place(one) for one in step.arguments]
        self._note_names(step.names)
        self._items.append((group, step.primitive.Launch, picking(found), None, []))


def _made_of(value: Any) -> list[Value]:
    return sources(value) if isinstance(value, VALUES) else []


def _used(step: Step) -> list[Value]:
    """Return the values that a step needs, each after those that it is made of."""
    return list(dict.fromkeys(each for one in values_in(step) for each in sources(one)))


def _nothing(values: list[Any]) -> tuple[()]:
    return ()


def _begin(arrays: Arrays, values: list[Any]) -> None:
    values[1]()


def _made(place: int, make: Callable[[Arrays, list[Any]], Array]) -> Callable[[Arrays, list[Any]], None]:
    """Return the function that puts what another one makes into a place."""

    def put(arrays: Arrays, values: list[Any]) -> None:
        values[place] = make(arrays, values)

    return put


def _empty(shape: Any, dtype: np.dtype[Any], arrays: Arrays, values: list[Any]) -> Array:
    return arrays.empty(shape, dtype)


def _converted(source: int, is_number: bool, arrays: Any, values: list[Any]) -> Array:
    """Return the buffer of an array, or of a number."""
    value = values[source]
    return arrays.filled(np.asarray(value)) if is_number else arrays.as_buffer(value, "x")


class _Called:
    """A step that a function does."""

    __slots__ = ("_function", "_read", "_returns", "_written")

    def __init__(self, step: Call, read: Sequence[int], written: Sequence[int]) -> None:
        self._function, self._returns, self._read, self._written = step.function, step.returns, read, written

    def run(self, arrays: Arrays, values: list[Any]) -> None:
        inputs = [*map(values.__getitem__, self._read)]
        if not self._returns:
            self._function(arrays, inputs, [*map(values.__getitem__, self._written)])
            return
        for place, result in zip(self._written, self._function(arrays, inputs), strict=True):
            values[place] = result
