"""Repeated calls of operators, run by compiled code: it compares the arguments, makes the results, and does the steps.

A call is determined by its operands, which each device compares in its own way, and by all its other arguments, which
must be the same objects as before. So no Python code runs between the called function and the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

from ep.common.native.jit import jit
from ep.common.native.object_layout import DATA, TUPLE_ITEMS, TUPLE_LENGTH, TYPE
from ep.common.native.python_calls import (
    add_reference,
    as_bool,
    as_tuple,
    call,
    clear_error,
    drop_reference,
    new_list,
    new_tuple,
    put_item,
)
from ep.common.native.python_function import bound_function
from ep.common.native.words import load_word, stack_words, store_word
from ep.include.arrays import UNKNOWN, CallFinder, PlannedCall
from ep.include.process import Rank, new_lock

_KEPT: Final = 16  # compiled code compares them one by one
_MOST_VALUES: Final = 256
_MOST_ARGUMENTS: Final = 96

(
    _NUM_OPERANDS,
    _SEVERAL_TYPE,  # the types of a sequence of the operands; 0 if each is an argument
    _OTHER_TYPE,
    _NUM_ARGS,  # operands or their sequence, other positional arguments, and keyword arguments
    _NUM_NAMES,
    _OUT,  # the place of the argument that is the array for the result; 0 if there is none
    _MANY,  # whether the function returns a list of results
    _NUM_RESULTS,
    _NUM_MADE,  # values that steps make, which are the first ones; the operands and the results follow
    _NUM_STEPS,
    _UNKNOWN,
    _NAMES,  # the first word of the names; the objects that follow the operands are before them
    _OF_DEVICE,  # of those by which the device compares arrays
    _STEPS,
    _OTHERS,
) = range(15)
"""The words of a call."""

_FUNCTION, _VALUE, _NUM_ARGUMENTS, _ARGUMENTS = range(4)
"""The words of a step. function: 0 if the value is dropped, 1 if it becomes a tuple of arguments. arguments: numbers
of values, which are small, or addresses of objects."""

Known = tuple[Any, ...]
"""A known call: its words, and all that these refer to."""


Step = tuple[Callable[..., Any] | None, Sequence[Any], int]
"""A function, the numbers of its arguments among the values of a call (a list of numbers is one argument), and that of
the value that becomes its result. Without a function, the value is dropped."""


class KnownCalls(CallFinder):
    """A finder whose `find` is a C function that compares its arguments with the last 16 calls."""

    def __init__(self, address: int) -> None:
        """address: of the function that `finding` returns, compiled."""
        self._calls, self._lock = list[Known](), new_lock(Rank.TABLE)
        self._recent, by_known = np.zeros((2, 2 + _KEPT), np.int64)
        by_known[0] = 1
        self.find = bound_function("find", address, self._recent)
        self.run = bound_function("run", address, by_known)

    def add(self, known: Known) -> None:
        with self._lock:  # the addresses are always those of calls that are kept
            if any(one is known for one in self._calls):  # not `in`, which would compare arrays
                return  # another call may be equal, but have another object as its dtype or axis
            calls, kept = [known, *self._calls][:_KEPT], self._calls
            self._recent[1 : 1 + len(calls)] = [*map(id, calls)]
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
    several = (id(list), id(tuple)) if call.in_sequence else (0, 0)
    num_args = len(call.others) + (1 if call.in_sequence else num_operands)
    out = num_args - len(call.names) + call.names.index("out") if "out" in call.names else 0
    num_lists = sum(type(one) is list for _, arguments, _ in steps for one in arguments)
    num_made, lists = len(made) + num_lists, iter(range(len(made), len(made) + num_lists))
    if num_made + num_operands + len(call.shapes) > _MOST_VALUES:
        return None
    found = list[tuple[int, ...]]()

    def word(number: Any) -> int:
        if type(number) is list:
            place = next(lists)
            add(1, number, place)
            return place
        if number >= len(fixed):
            return number - len(fixed) + num_made
        return number - made.start if number in made else id(fixed[number])

    def add(function: int, arguments: Sequence[Any], value: int) -> None:
        read = [*map(word, arguments)]
        found.append((function, value, len(read), *read))

    for function, arguments, value in steps:
        add(0 if function is None else id(function), arguments, word(value))
    if max(map(len, found)) > _MOST_ARGUMENTS:
        return None
    names = _OTHERS + len(call.others)
    places = names, names + len(call.names), names + len(call.names) + len(of_device)
    header = num_operands, *several, num_args, len(call.names), out, int(call.many), len(call.shapes), num_made
    words = [*header, len(found), id(UNKNOWN), *places, *map(id, (*call.others, *call.names))]
    held = call.others, call.names, fixed, steps, held
    return np.array([*words, *of_device, *chain(*found)], np.int64), held


@jit
def _operands_of(words, args, num_args):
    """Return the tuple of the operands of a call, whose first argument has them: a new reference, 0 if it has none."""
    if num_args == 0:
        return 0
    several = load_word(args, 0)
    kind = load_word(several + TYPE, 0)
    if kind == load_word(words, _OTHER_TYPE):
        add_reference(several)
        return several
    if kind != load_word(words, _SEVERAL_TYPE):
        return 0
    several = as_tuple(several)  # no other thread can change the tuple meanwhile
    if several == 0:
        clear_error()  # out of memory
    return several


@jit
def _has_others(words, args, num_args, names, begin):
    """Return whether all arguments of a call but the operands are those of a known one. num_args: the number of
    positional arguments. begin: of those behind the operands."""
    num_names = 0 if names == 0 else load_word(names + TUPLE_LENGTH, 0)
    total = num_args + num_names
    if total != load_word(words, _NUM_ARGS) or num_names != load_word(words, _NUM_NAMES):
        return False
    name, out = words + 8 * load_word(words, _NAMES), load_word(words, _OUT)
    for place in range(num_names):
        if load_word(names + TUPLE_ITEMS, place) != load_word(name, place):
            return False
    for place in range(begin, total):
        if load_word(args, place) != load_word(words, _OTHERS + place - begin) and place != out:
            return False
    return True


@jit
def _as_tuple(objects, number):
    """Return a tuple of objects; 0 if an exception was raised."""
    found = new_tuple(number)
    if found != 0:
        for place in range(number):
            add_reference(load_word(objects, place))
            store_word(found + TUPLE_ITEMS, place, load_word(objects, place))
    return found


@jit
def _do_steps(words, values):
    """Do the steps of a call; return whether all are done. If not, the first value is 0, or UNKNOWN."""
    arguments, step = stack_words(_MOST_ARGUMENTS), words + 8 * load_word(words, _STEPS)
    for _ in range(load_word(words, _NUM_STEPS)):
        function, place, number = load_word(step, _FUNCTION), load_word(step, _VALUE), load_word(step, _NUM_ARGUMENTS)
        for k in range(number):
            argument = load_word(step, _ARGUMENTS + k)
            store_word(arguments, k, load_word(values, argument) if argument < _MOST_VALUES else argument)
        made = 0
        if function == 1:
            made = _as_tuple(arguments, number)
        elif function != 0:
            made = call(function, arguments, number, 0)
        last = load_word(values, place)
        store_word(values, place, made)
        if last != 0:
            drop_reference(last)
        if function != 0 and (made == 0 or made == load_word(words, _UNKNOWN)):
            last = load_word(values, 0)
            if last != 0 and place != 0:
                drop_reference(last)
            store_word(values, place, 0)
            store_word(values, 0, made)
            return False
        step += 8 * (_ARGUMENTS + number)
    return True


@jit
def _as_list(results, number):
    """Return a list of arrays, of which the last is the first in memory, and whose references it takes; 0 if an
    exception was raised."""
    found = new_list(number)
    for place in range(number):
        array = load_word(results, number - 1 - place)
        if found == 0:
            drop_reference(array)
        else:
            put_item(found, place, array)
    return found


@jit
def _done(words, operands, out):
    """Do a known call; return its result, UNKNOWN, or 0 if an exception was raised."""
    values, num_made = stack_words(_MOST_VALUES), load_word(words, _NUM_MADE)
    num_operands, num_results = load_word(words, _NUM_OPERANDS), load_word(words, _NUM_RESULTS)
    for place in range(num_made):
        store_word(values, place, 0)
    for place in range(num_operands):
        store_word(values, num_made + place, load_word(operands, place))
    results = values + 8 * (num_made + num_operands)
    for place in range(num_results):
        store_word(results, place, out)  # if it is given, there is one result
    if out != 0:
        add_reference(out)
    done, refused = _do_steps(words, values), 0
    if not done:
        refused = load_word(values, 0)
        for place in range(num_results):
            if load_word(results, place) != 0:
                drop_reference(load_word(results, place))
    for place in range(0 if done else 1, num_made):
        if load_word(values, place) != 0:
            drop_reference(load_word(values, place))
    if not done:
        return refused
    if load_word(words, _MANY) != 0:
        return _as_list(results, num_results)
    return load_word(results, 0)


def finding(jit: Callable[..., Any], fits: Any) -> Callable[[Any, Any, Any, Any], Any]:
    """Return the function of `find` and `run`, for the compiler of a device, of which `jit` is.

    fits: a function for compiled code of (words of the device, operands, array for the result or 0): whether these
    arrays are like those of a known call.
    """

    @jit
    def are_arrays(words, operands, args):
        out = load_word(words, _OUT)
        return fits(words + 8 * load_word(words, _OF_DEVICE), operands, 0 if out == 0 else load_word(args, out))

    @jit
    def is_known(known, args, num_args, names, several):
        words = load_word(load_word(known + TUPLE_ITEMS, 0) + DATA, 0)
        if several == 0:
            begin = load_word(words, _NUM_OPERANDS)
            return _has_others(words, args, num_args, names, begin) and are_arrays(words, args, args)
        if load_word(several + TUPLE_LENGTH, 0) != load_word(words, _NUM_OPERANDS):
            return False
        return _has_others(words, args, num_args, names, 1) and are_arrays(words, several + TUPLE_ITEMS, args)

    @jit
    def found(recent, args, num_args, names, several):
        """Return a new reference to the known call that a call is; 0 if it is none. To compare may run other threads,
        which may add calls."""
        for place in range(1, 1 + _KEPT):
            known = load_word(recent, place)
            if known == 0:
                return 0
            add_reference(known)
            if is_known(known, args, num_args, names, several):
                return known
            drop_reference(known)
        return 0

    def find(to, args, num_args, names):
        recent, known, several, out = load_word(to + DATA, 0), 0, 0, 0
        if load_word(recent, 0) != 0:  # it is `run`, whose arguments are a known call, the operands, and `out`
            words = load_word(load_word(load_word(args, 0) + TUPLE_ITEMS, 0) + DATA, 0)
            several = load_word(args, 1)
            add_reference(several)
            if load_word(words, _OUT) != 0:
                out = load_word(args, 2)
            of_device = words + 8 * load_word(words, _OF_DEVICE)
            is_as_long = load_word(several + TUPLE_LENGTH, 0) == load_word(words, _NUM_OPERANDS)
            if is_as_long and fits(of_device, several + TUPLE_ITEMS, out):
                known = load_word(args, 0)
                add_reference(known)
        elif load_word(recent, 1) != 0:
            words, is_any = load_word(load_word(load_word(recent, 1) + TUPLE_ITEMS, 0) + DATA, 0), True
            if load_word(words, _SEVERAL_TYPE) != 0:  # this is the same for all calls of a function
                several = _operands_of(words, args, num_args)
                is_any = several != 0
            if is_any:
                known = found(recent, args, num_args, names, several)
            if known != 0:
                words = load_word(load_word(known + TUPLE_ITEMS, 0) + DATA, 0)
                if load_word(words, _OUT) != 0:
                    out = load_word(args, load_word(words, _OUT))
        if known == 0:
            result = as_bool(0)  # UNKNOWN
        else:
            words = load_word(load_word(known + TUPLE_ITEMS, 0) + DATA, 0)
            result = _done(words, args if several == 0 else several + TUPLE_ITEMS, out)
            drop_reference(known)
        if several != 0:
            drop_reference(several)
        return result

    return find
