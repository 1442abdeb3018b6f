"""Repeated calls of operators, run by compiled code: it compares the arguments, makes the results, and does the steps.

A call is determined by its operands, which each device compares in its own way, and by all its other arguments, which
must be the same objects as before. So no Python code runs between the called function and the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any, Final

import numpy as np

from ep.common.native.fields import Fields, Int64, address, addresses, pointer, word, words
from ep.common.native.jit import jit
from ep.common.native.object_layout import data_address
from ep.common.native.objects import ArrayObject, Object, TupleObject
from ep.common.native.python_calls import (
    add_reference,
    as_bool,
    as_tuple,
    clear_error,
    drop_reference,
    new_list,
    new_tuple,
    put_item,
)
from ep.common.native.python_calls import call as vectorcall
from ep.common.native.python_function import bound_function
from ep.common.native.record import Record
from ep.include.arrays import UNKNOWN, CallFinder, PlannedCall
from ep.include.process import Rank, new_lock

_KEPT: Final = 16  # compiled code compares them one by one
_MOST_VALUES: Final = 256
_MOST_ARGUMENTS: Final = 96


class CallStep(Fields):
    """A step of a call. function: 0 if the value is dropped, 1 if it becomes a tuple of arguments. value: the number of
    the value that becomes the result. arguments: numbers of values, which are small, or addresses of objects."""

    function = word()
    value = word()
    num_arguments = word()
    arguments = words(0)


class CallWords(Record):
    """A known call. The lists that it points to follow it.

    list_type, tuple_type: the types of a sequence of the operands; 0 if each is an argument.
    num_args: operands or their sequence, other positional arguments, and keyword arguments.
    out: the place of the argument that is the array for the result; 0 if there is none.
    many: whether the function returns a list of results.
    num_made: values that steps make, which are the first ones; the operands and the results follow.
    others: the objects that follow the operands. of_device: the words by which the device compares arrays.
    """

    num_operands = word()
    list_type = address()
    tuple_type = address()
    num_args = word()
    num_names = word()
    out = word()
    many = word()
    num_results = word()
    num_made = word()
    num_steps = word()
    unknown = address()
    others = pointer(Int64)
    names = pointer(Int64)
    of_device = address()
    steps = pointer(CallStep)


class RecentCalls(Record):
    """The words of a finder. is_run: whether the function is `run`, whose arguments are a known call, the operands, and
    `out`. calls: the last ones, then 0."""

    is_run = word()
    calls = addresses(_KEPT + 1)


Known = tuple[Any, ...]
"""A known call: its words, and all that these refer to."""


Step = tuple[Callable[..., Any] | None, Sequence[Any], int]
"""A function, the numbers of its arguments among the values of a call (a list of numbers is one argument), and that of
the value that becomes its result. Without a function, the value is dropped."""


class KnownCalls(CallFinder):
    """A finder whose `find` is a C function that compares its arguments with the last 16 calls."""

    def __init__(self, address: int) -> None:
        """address: of the function that `finding` returns, compiled."""
        self._calls, self._lock, self._recent = list[Known](), new_lock(Rank.TABLE), RecentCalls().words
        self.find = bound_function("find", address, self._recent)
        self.run = bound_function("run", address, RecentCalls(is_run=True).words)

    def add(self, known: Known) -> None:
        with self._lock:  # the addresses are always those of calls that are kept
            if any(one is known for one in self._calls):  # not `in`, which would compare arrays
                return  # another call may be equal, but have another object as its dtype or axis
            calls, kept = [known, *self._calls][:_KEPT], self._calls
            self._recent[RecentCalls.calls :][: len(calls)] = [*map(id, calls)]
            self._calls = calls
        del kept  # of what is dropped, anything may be called


def known_call(
    call: PlannedCall,
    num_operands: int,
    of_device: Sequence[int],
    fixed: Sequence[Any],
    made: range,
    steps: Sequence[Step],
    held: Any,
) -> Known | None:
    """Return a known call; None if it has too many values. These are the fixed ones, the operands, and the results from
    the last to the first.

    of_device: the words by which the device compares arrays. made: the numbers of the fixed values that steps make, and
    drop. steps: if a function returns UNKNOWN, the call is not done. held: what the words refer to.
    """
    num_args = len(call.others) + (1 if call.in_sequence else num_operands)
    num_lists = sum(type(one) is list for _, arguments, _ in steps for one in arguments)
    num_made, lists = len(made) + num_lists, iter(range(len(made), len(made) + num_lists))
    if num_made + num_operands + len(call.plan.shapes) > _MOST_VALUES:
        return None
    found = list[tuple[int, ...]]()

    def word_of(number: Any) -> int:
        if isinstance(number, list):
            place: int = next(lists)
            add(1, number, place)
            return place
        if number in made:
            return int(number) - made.start
        return id(fixed[number]) if number < len(fixed) else int(number) - len(fixed) + num_made

    def add(function: int, arguments: Sequence[Any], value: int) -> None:
        read = [*map(word_of, arguments)]
        found.append((function, value, len(read), *read))

    for function, arguments, value in steps:
        add(0 if function is None else id(function), arguments, word_of(value))
    if max(map(len, found)) > _MOST_ARGUMENTS:
        return None
    parts = [*map(id, call.others)], [*map(id, call.names)], of_device, [*chain(*found)]
    words = np.zeros(CallWords.num_words + sum(map(len, parts)), np.int64)
    first = data_address(words) + 8 * CallWords.num_words
    others, names, compared, first_step = (first + 8 * number for number in accumulate(map(len, parts[:3]), initial=0))
    made_words = CallWords(
        num_operands=num_operands,
        list_type=id(list) if call.in_sequence else 0,
        tuple_type=id(tuple) if call.in_sequence else 0,
        num_args=num_args,
        num_names=len(call.names),
        out=num_args - len(call.names) + call.names.index("out") if "out" in call.names else 0,
        many=call.many,
        num_results=len(call.plan.shapes),
        num_made=num_made,
        num_steps=len(found),
        unknown=id(UNKNOWN),
        others=others,
        names=names,
        of_device=compared,
        steps=first_step,
    )
    words[:] = [*made_words.words, *chain(*parts)]
    return words, (call.others, call.names, fixed, steps, held)


@jit
def _words_of(known: int) -> CallWords:
    """Return the words of a known call."""
    return CallWords.at(ArrayObject.at(TupleObject.at(known).items[0]).data)


@jit
def _operands_of(call: CallWords, args: Int64, num_args: int) -> int:
    """Return the tuple of the operands of a call, whose first argument has them: a new reference, 0 if it has none."""
    if num_args == 0:
        return 0
    several = args[0]
    kind = Object.at(several).type
    if kind == call.tuple_type:
        add_reference(several)
        return several
    if kind != call.list_type:
        return 0
    several = as_tuple(several)  # no other thread can change the tuple meanwhile
    if several == 0:
        clear_error()  # out of memory
    return several


@jit
def _has_others(call: CallWords, args: Int64, num_args: int, names: TupleObject, begin: int) -> bool:
    """Return whether all arguments of a call but the operands are those of a known one. num_args: the number of
    positional arguments. begin: of those behind the operands."""
    num_names = 0
    if names != 0:
        num_names = names.length
    total = num_args + num_names
    if total != call.num_args or num_names != call.num_names:
        return False
    for place in range(num_names):
        if names.items[place] != call.names[place]:
            return False
    for place in range(begin, total):
        known = call.others[place - begin]
        if args[place] != known and place != call.out:
            return False
    return True


@jit
def _as_tuple(objects: Int64, number: int) -> int:
    """Return a tuple of objects; 0 if an exception was raised."""
    found = TupleObject.at(new_tuple(number))
    if found != 0:
        for place in range(number):
            add_reference(objects[place])
            found.items[place] = objects[place]
    return found + 0


@jit
def _do_steps(call: CallWords, values: Int64) -> bool:
    """Do the steps of a call; return whether all are done. If not, the first value is 0, or UNKNOWN."""
    arguments, step = Int64.array_on_stack(_MOST_ARGUMENTS), call.steps
    for _ in range(call.num_steps):
        function, place, number = step.function, step.value, step.num_arguments
        for k in range(number):
            argument = step.arguments[k]
            arguments[k] = values[argument] if argument < _MOST_VALUES else argument
        made = 0
        if function == 1:
            made = _as_tuple(arguments, number)
        elif function != 0:
            made = vectorcall(function, arguments, number, 0)
        last = values[place]
        values[place] = made
        if last != 0:
            drop_reference(last)
        if function != 0 and (made == 0 or made == call.unknown):
            last = values[0]
            if last != 0 and place != 0:
                drop_reference(last)
            values[place] = 0
            values[0] = made
            return False
        step = CallStep.at(step.arguments + 8 * number)
    return True


@jit
def _as_list(results: Int64, number: int) -> int:
    """Return a list of arrays, of which the last is the first in memory, and whose references it takes; 0 if an
    exception was raised."""
    found = new_list(number)
    for place in range(number):
        array = results[number - 1 - place]
        if found == 0:
            drop_reference(array)
        else:
            put_item(found, place, array)
    return found


@jit
def _done(call: CallWords, operands: Int64, out: int) -> int:
    """Do a known call; return its result, UNKNOWN, or 0 if an exception was raised."""
    values, num_made = Int64.array_on_stack(_MOST_VALUES), call.num_made
    num_results, first = call.num_results, num_made + call.num_operands
    for place in range(first + num_results):  # if `out` is given, there is one result
        values[place] = 0 if place < num_made else operands[place - num_made] if place < first else out
    results = Int64.at(values + 8 * first)
    add_reference(out)
    done, refused = _do_steps(call, values), 0
    if not done:
        refused = values[0]
        for place in range(num_results):
            drop_reference(results[place])
    for place in range(0 if done else 1, num_made):
        drop_reference(values[place])
    if not done:
        return refused
    if call.many != 0:
        return _as_list(results, num_results)
    return results[0]


def finding(jit: Callable[..., Any], fits: Callable[..., bool]) -> Callable[[Any, Any, Any, Any], Any]:
    """Return the function of `find` and `run`, for the compiler of a device, of which `jit` is.

    fits: a function for compiled code of (words of the device, operands, array for the result or 0): whether these
    arrays are like those of a known call.
    """

    @jit
    def are_arrays(call: CallWords, operands: Int64, args: Int64) -> bool:
        return fits(call.of_device, operands, 0 if call.out == 0 else args[call.out])

    @jit
    def is_known(known: int, args: Int64, num_args: int, names: TupleObject, several: TupleObject) -> bool:
        call = _words_of(known)
        if several == 0:
            return _has_others(call, args, num_args, names, call.num_operands) and are_arrays(call, args, args)
        if several.length != call.num_operands:
            return False
        return _has_others(call, args, num_args, names, 1) and are_arrays(call, several.items, args)

    @jit
    def found(recent: RecentCalls, args: Int64, num_args: int, names: TupleObject, several: TupleObject) -> int:
        """Return a new reference to the known call that a call is; 0 if it is none. To compare may run other threads,
        which may add calls."""
        for place in range(_KEPT):
            known = recent.calls[place]
            if known == 0:
                return 0
            add_reference(known)
            if is_known(known, args, num_args, names, several):
                return known
            drop_reference(known)
        return 0

    def find(to: ArrayObject, args: Int64, num_args: int, names: TupleObject) -> Any:
        recent, known, several, out = RecentCalls.at(to.data), 0, 0, 0
        if recent.is_run != 0:
            call, operands = _words_of(args[0]), TupleObject.at(args[1])
            several = args[1]
            add_reference(several)
            if call.out != 0:
                out = args[2]
            if operands.length == call.num_operands and fits(call.of_device, operands.items, out):
                known = args[0]
                add_reference(known)
        elif recent.calls[0] != 0:
            call, is_any = _words_of(recent.calls[0]), True
            if call.list_type != 0:  # this is the same for all calls of a function
                several = _operands_of(call, args, num_args)
                is_any = several != 0
            if is_any:
                known = found(recent, args, num_args, names, TupleObject.at(several))
            if known != 0:
                call = _words_of(known)
                if call.out != 0:
                    out = args[call.out]
        if known == 0:
            result = as_bool(0)  # UNKNOWN
        else:
            result = _done(_words_of(known), args if several == 0 else TupleObject.at(several).items, out)
            drop_reference(known)
        if several != 0:
            drop_reference(several)
        return result

    return find
