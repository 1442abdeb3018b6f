"""The loop that runs the steps of a plan, in Python: the way of every device that has no other one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter, methodcaller
from typing import Any, Final, TypeAlias

import numpy as np

from ep.include.arrays import Array, Arrays, Placeholder
from ep.include.errors import ArgumentError
from ep.run.steps import VALUES, Call, Check, Converted, Launch, Step, Temporary, Value, View, has_values, uses

_STREAM, _ARRAYS, _UNREAD, _MADE = range(4)
"""The places of the stream, of the Arrays, of what nothing reads, and of the first value that is made in a call."""

Draft: TypeAlias = tuple[Any, Any, Any, Any, Any]
"""(function, arguments, also, place, origin): the value in the place becomes what the function returns for the values
in the places `arguments`, or in lists of these. Without a function, the value is new memory of the shape `arguments`
and the dtype `also`, or None without a shape. origin: the number of the step, and the names of its arguments in errors.
"""

Item: TypeAlias = Draft
"""A Draft whose arguments a function picks from the values; with `also`, they are the stream, and what both pick."""


class Loop:
    """Steps in the form in which a loop runs them, one after the other, on the list of the values of a call.

    The values are the stream and the Arrays, then what is fixed: a place for what nothing reads, one for each value
    that is made in a call, and the constants; then the operands, and last the results from the last to the first.

    fixed, made: the fixed values behind the stream and the Arrays, and the places of those that a call makes. drafts:
    what is done. returned: the places of the values that are read after the last step. copy, late: those of a `Plan`.
    """

    copy: Any = None
    late: Sequence[int] | None = None

    def __init__(
        self,
        steps: Sequence[Step],
        operands: Mapping[Value, int] | None = None,
        returned: Sequence[Any] = (),
    ) -> None:
        """operands: the numbers of operands that are not used as a Placeholder, by value. returned: values and
        constants."""
        self._steps, self._numbers = steps, operands or {}
        found = uses(steps, returned)
        made = [one for one in found if not isinstance(one, Placeholder) and one not in self._numbers]
        self._places = {one: _MADE + k for k, one in enumerate(made)}
        self.fixed: list[Any] = [None] * (1 + len(made))
        self.made = range(_UNREAD, _MADE + len(made))
        # on a mesh, functions return all that is computed
        self._on_device = any(not isinstance(step, Call) or not step.returns for step in steps)
        first, last = [list[Value]() for _ in range(len(steps) + 1)], [list[int]() for _ in range(len(steps) + 1)]
        for one in made:
            begin, end = found[one]
            first[begin].append(one)
            last[end].append(self._places[one])
        drafts = list[Draft]()
        for number, step in enumerate([*steps, None]):
            if isinstance(step, Call) and step.returns:
                first[number] = [one for one in first[number] if one not in step.arguments[1]]
            drafts += [self._making(number, one) for one in first[number]]
            ended = last[number] if number < len(steps) - 1 else []
            if step is not None and not isinstance(step, Check):
                drafts.append(self._doing(number, step, ended))
            drafts += [(None, None, (), place, (number, None)) for place in ended]
        self._allocates = any(function is None is not shape for function, shape, *_ in drafts)
        to_return = [self._fix(one) for one in returned]
        self._operands = 2 + len(self.fixed)
        self.returned = [*map(self._place, to_return)]
        self.drafts: Sequence[Draft] | None = [
            draft if draft[0] is None else (draft[0], [*map(self._place, draft[1])], *draft[2:]) for draft in drafts
        ]
        self._items, self._has_run = list[Item](), False

    def __call__(
        self,
        arrays: Any,
        operands: Sequence[Array],
        results: Sequence[Array] = (),
        launched: Callable[[], None] | None = None,
    ) -> Any:
        """Do the steps; return all values. arrays: the Operands. launched: is called after steps that launch.

        `step_of` returns the step that raised an error.
        """
        if self.copy is not None and self._overlap(arrays, operands, results):
            return self._copied(arrays, operands, results)
        items = self._items or self._bound()
        if launched is not None:
            items = self._told(items, launched)
        stream: Any = arrays.stream if self._on_device else None
        empty: Any = arrays.empty if self._allocates else None
        values = [stream, arrays, *self.fixed, *operands, *(results if len(results) == 1 else results[::-1])]
        try:
            for function, picked, also, place, origin in items:  # noqa: B007  the origin is for an error
                if also is None:
                    values[place] = function(*picked(values))
                elif function is not None:
                    values[place] = function(stream, picked(values), also(values))
                else:
                    values[place] = None if picked is None else empty(picked, also)
        except Exception as error:
            number, names = origin
            if isinstance(error, ArgumentError):
                whole = self._steps[number].origin if number < len(self._steps) else None
                error.rename(names or {})
                error.rename(whole.names if whole else {})
            error.ep_step = self._steps, number  # type: ignore[attr-defined]
            raise
        return values

    def launches(
        self, arrays: Any, operands: Sequence[Array], results: Sequence[Array] = ()
    ) -> list[Callable[[], object]]:
        """Return the launches of a call as functions, which may be called any number of times.

        arrays: the Operands, whose launches compute nothing. All steps are repeatable.
        """
        stream, found = arrays.stream, list[Callable[[], object]]()
        values = [stream, arrays, *self.fixed, *operands, *(results if len(results) == 1 else results[::-1])]
        for function, arguments, also, place, (number, _) in self.drafts or ():
            if function is None:
                values[place] = None if arguments is None else arrays.empty(arguments, also)
                continue
            picked, more = _picking(arguments)
            given = picked(values) if more is None else (stream, picked(values), more(values))
            step = self._steps[number] if number < len(self._steps) else None  # after the last one, results are made
            if isinstance(function, Launch):
                found.append(partial(function.primitive.Launch, *given))
            elif isinstance(step, Call) and function is step.function:
                found.append(partial(function, *given))
            else:
                values[place] = function(*given)
        return found

    def _copied(self, arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Do the steps with results in other memory, and copy these."""
        made = [arrays.empty(one.shape, one.dtype) for one in outputs]
        self(arrays, inputs, made)
        for one, out in zip(made, outputs, strict=True):
            self.copy(arrays, [one], [out])

    def _overlap(self, arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> bool:
        """Return whether a result may share memory with a late operand."""
        for number, one in enumerate(inputs):
            if self.late is None or number in self.late:
                for out in outputs:
                    if arrays.may_share_memory(one, out):
                        return True
        return False

    def _bound(self) -> list[Item]:
        """Return the items, with the methods of primitives. The first launch of a primitive may replace its method, so
        those of the second run are kept."""
        items = [
            one
            if one[0] is None
            else (one[0].primitive.Launch if isinstance(one[0], Launch) else one[0], *_picking(one[1]), *one[3:])
            for one in self.drafts or ()
        ]
        # not by assignment, which a plan refuses
        vars(self).update({"_items": items} if self._has_run else {"_has_run": True})
        return items

    def _told(self, items: Sequence[Item], launched: Callable[[], None]) -> list[Item]:
        """Return items with calls after steps that launch."""
        found = list[Item]()
        steps, numbers = [*self._steps, None], [item[-1][0] for item in items]
        for item, number, following in zip(items, numbers, [*numbers[1:], -1], strict=True):
            found.append(item)
            if number != following and isinstance(steps[number], Launch | Call):
                found.append((launched, _NOTHING, None, _UNREAD, item[-1]))
        return found

    def _making(self, number: int, one: Any) -> Draft:
        """Return a draft that makes a value: its arguments are values, and places of constants."""
        place, fix, names = self._places[one], self._fix, None
        if isinstance(one, Temporary):
            return None, one.shape, one.dtype, place, (number, None)
        function: Callable[..., Any]
        if isinstance(one, Check):
            function, arguments, names = _checked, [_ARRAYS, fix(one.indices), fix(one.size), fix(one.mode)], one.names
        elif isinstance(one, Converted):
            function, arguments = _filled if one.is_number else _buffer, [_ARRAYS, fix(one.source)]
        elif one.places is one.axes is None:
            function, arguments = methodcaller("reshape", one.shape), [fix(one.source)]
        else:
            function, arguments = _viewed, [_ARRAYS, *map(fix, (one.source, one.places, one.axes, one.shape))]
        return function, arguments, None, place, (number, names)

    def _doing(self, number: int, step: Launch | Call, ended: list[int]) -> Draft:
        """Return the draft of a step. ended: the places of values that it is the last to use, of which it
        may take one: a launch returns None."""
        if isinstance(step, Launch):
            arguments = [_STREAM, *map(self._fix, step.arguments)]
            place = ended.pop() if ended else _UNREAD
            return step, arguments, None, place, (number, step.names)
        read, written = ([*map(self._fix, some)] for some in step.arguments)
        if not step.returns:
            return step.function, [_ARRAYS, read, written], None, _UNREAD, (number, None)
        first = self._places[written[0]]
        return step.function, [_ARRAYS, read], None, slice(first, first + len(written)), (number, None)

    def _fix(self, argument: Any) -> Any:
        """Return values as they are, and for a constant the place that it gets."""
        if isinstance(argument, VALUES):
            return argument
        if has_values(argument):
            return [*map(self._fix, argument)]
        self.fixed.append(argument)
        return 1 + len(self.fixed)

    def _place(self, value: Any) -> Any:
        """Return the place of a value, or the places of those in a list."""
        if type(value) is list:
            return [*map(self._place, value)]
        if type(value) is int:
            return value
        if isinstance(value, Placeholder):
            return -1 - value.result if value.number is None else self._operands + value.number
        return self._places[value] if value in self._places else self._operands + self._numbers[value]


_NOTHING: Final = itemgetter(slice(0, 0))


def step_of(error: BaseException, steps: Sequence[Step]) -> int:
    """Return the number of the step that raised an error; -1 if none of these steps did."""
    raised, number = getattr(error, "ep_step", (None, -1))
    return number if raised is steps else -1


def view_of(arrays: Any, source: Array, view: View) -> Array:
    """Return the array of a view of an array.

    Raises TypeError if `reshape` of a device's array copies: views are made once, before their memory is written.
    """
    if view.places is view.axes is None:
        made = source.reshape(view.shape)
        if getattr(made, "address", None) != getattr(source, "address", None):
            kind = type(source).__qualname__
            raise TypeError(f"{kind}.reshape returned other memory; it must be the same memory in another shape")
        return made
    return arrays.view(source, view.places, view.axes, view.shape)


def _viewed(arrays: Any, source: Array, places: Any, axes: Any, shape: Any) -> Array:
    return arrays.view(source, places, axes, shape)


def _checked(arrays: Any, indices: Array, size: int, mode: str) -> Array:
    return arrays.resolved(indices, size, mode) if indices.size else indices


def _filled(arrays: Any, number: Any) -> Array:
    return arrays.filled(np.asarray(number))


def _buffer(arrays: Any, array: Array) -> Array:
    return arrays.as_buffer(array, "x")


def _picking(places: Sequence[Any]) -> tuple[Callable[[list[Any]], Sequence[Any]], Any]:
    """Return the function that picks values in places, and None; for a launch on two lists, the functions that pick one
    each."""
    if places[0] == _STREAM and [*map(type, places[1:])] == [list, list]:
        written, read = (itemgetter(*some) if len(some) > 1 else itemgetter(_slice(some)) for some in places[1:])
        return written, read
    if len(places) == 1:
        return itemgetter(_slice(places)), None
    picked = [_slice(at) if type(at) is list else at for at in places]
    return partial(_picked, places) if None in picked else itemgetter(*picked), None


def _slice(places: Sequence[int]) -> slice | None:
    """Return the slice of a list that has its elements at some places; None if they are no neighbours."""
    if not places:
        return slice(0, 0)
    first, step = places[0], 1 if len(places) < 2 else places[1] - places[0]
    end = first + step * len(places)
    if abs(step) != 1 or [*range(first, end, step)] != places:
        return None
    return slice(first, None if first < 0 == end else end, step)


def _picked(places: Sequence[Any], values: list[Any]) -> list[Any]:
    """Return the values in some places, and lists of values."""
    return [values[at] if type(at) is int else [values[each] for each in at] for at in places]
