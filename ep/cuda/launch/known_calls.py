"""Repeated calls of operators, run by compiled code: it compares the arguments, makes the result, and launches.

A call is determined by the keys of its operands, which are arrays of operators, and by all its other arguments, which
must be the same objects as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.jit import jit
from ep.common.native.object_layout import DATA, FIRST_SLOT, TUPLE_ITEMS, TUPLE_LENGTH, TYPE
from ep.common.native.python_calls import add_reference, as_bool, call, clear_error, compare, drop_reference
from ep.common.native.python_function import bound_function
from ep.common.native.recent_calls import RecentCalls
from ep.common.native.words import load_word, stack_words, store_word
from ep.cuda.device.slots import CALL_KEY
from ep.cuda.launch.check import is_not_captured
from ep.cuda.launch.code import as_int, compile_function
from ep.cuda.launch.layout import ARRAY_TYPE
from ep.include.arrays import CallFinder, Keyed, Placeholder, PlannedCall
from ep.run.steps import Launch, has_values, values_in

_MOST_OF_LAUNCH: Final = 16
_EQUAL: Final = 2  # Py_EQ

SHARED, STREAM, NUM_ARGS, NUM_NAMES, NUM_OPERANDS, NUM_ARGUMENTS, CODES = range(7)
"""The words of a call; a code says what an argument of the launch is: an object, the result, or an operand."""

_OBJECT, _RESULT, _OPERAND = -1, 0, 1

_WORDS, _KEYS, _OTHERS, _NAMES, _EMPTY, _LAUNCH, _ARGUMENTS = range(7)
"""The items of a call: its words, and the objects that compiled code reads."""


class CudaCallFinder(CallFinder):
    """A finder whose `find` is a C function that compares its arguments with the last 16 calls."""

    def __init__(self, shared: int, stream: int, empty: Callable[[Any, Any], Callable[[], Any] | None]) -> None:
        """shared: the address of the words that all primitives share; stream: the handle of the operators' stream.
        empty: (shape, dtype) -> the function that makes a result while the stream is not captured; None if none does.
        """
        self._shared, self._stream, self._empty = shared, stream, empty
        self._calls = RecentCalls()
        self.find = bound_function("find", _finding(), self._calls)

    def known(self, call: PlannedCall, operands: Sequence[Any]) -> tuple[Any, ...] | None:
        launch = call.plan.steps[0] if len(call.plan.steps) == 1 else None
        if call.in_sequence or call.many or not isinstance(launch, Launch) or launch.names or "out" in call.names:
            return None
        empty, arguments = self._empty(*call.shapes, call.dtype), (call.arrays.stream, *launch.arguments)
        is_plain = all(isinstance(one, Placeholder) for one in values_in(launch)) and not any(
            map(has_values, arguments)
        )
        is_plain &= all(isinstance(one, Keyed) for one in operands)  # others are numbers
        if empty is None or not is_plain or any(map(has_values, arguments)) or len(arguments) > _MOST_OF_LAUNCH:
            return None
        num_operands, others, names = len(operands), tuple(call.others), tuple(call.names)
        sizes = self._shared, self._stream, num_operands + len(others), len(names), num_operands, len(arguments)
        words = np.array([*sizes, *map(_code, arguments)], np.int64)
        keys = tuple(one.call_key for one in operands)
        return words, keys, others, names, empty, launch.primitive.Launch, arguments

    def add(self, known: tuple[Any, ...]) -> None:
        self._calls.add(known)


def _code(argument: Any) -> int:
    if isinstance(argument, Placeholder):
        return _RESULT if argument.number is None else _OPERAND + argument.number
    return _OBJECT


@jit
def _item(known, place):
    return load_word(known + TUPLE_ITEMS, place)


@jit
def _is(known, words, args, num_args, names):
    """Return whether a call is a known one. num_args: the number of positional arguments."""
    num_names = 0 if names == 0 else load_word(names + TUPLE_LENGTH, 0)
    if num_args + num_names != load_word(words, NUM_ARGS) or num_names != load_word(words, NUM_NAMES):
        return False
    for place in range(num_names):
        if load_word(names + TUPLE_ITEMS, place) != _item(_item(known, _NAMES), place):
            return False
    num_operands = load_word(words, NUM_OPERANDS)
    for place in range(num_operands, num_args + num_names):
        if load_word(args, place) != _item(_item(known, _OTHERS), place - num_operands):
            return False
    array_type = load_word(load_word(words, SHARED), ARRAY_TYPE)
    for place in range(num_operands):
        array = load_word(args, place)
        if load_word(array + TYPE, 0) != array_type:
            return False
        key, wanted = load_word(array + CALL_KEY, 0), _item(_item(known, _KEYS), place)
        if key != wanted:
            if key == 0:
                return False
            equal = compare(key, wanted, as_int(_EQUAL))
            if equal != 1:
                if equal < 0:
                    clear_error()
                return False
    return True


@jit
def _done(known, words, args):
    """Make the result of a known call, and launch; return 0 if an exception was raised."""
    arguments = stack_words(_MOST_OF_LAUNCH)
    result = call(_item(known, _EMPTY), arguments, 0, 0)
    if result == 0:
        return 0
    number = load_word(words, NUM_ARGUMENTS)
    for place in range(number):
        code, argument = load_word(words, CODES + place), result
        if code == _OBJECT:
            argument = _item(_item(known, _ARGUMENTS), place)
        elif code >= _OPERAND:
            argument = load_word(args, code - _OPERAND)
        store_word(arguments, place, argument)
    nothing = call(_item(known, _LAUNCH), arguments, number, 0)
    if nothing == 0:
        drop_reference(result)
        return 0
    drop_reference(nothing)
    return result


def _find(calls, args, num_args, names):
    recent = load_word(calls + FIRST_SLOT, 0)
    if recent == 0:
        return as_bool(0)  # UNKNOWN
    add_reference(recent)  # comparing may run other threads, and they may add calls
    result = 0
    searching = True
    place, number = 0, load_word(recent + TUPLE_LENGTH, 0)
    while searching and place < number:
        known = _item(recent, place)
        words = load_word(_item(known, _WORDS) + DATA, 0)
        if _is(known, words, args, num_args, names):
            searching = False
            is_free = is_not_captured(load_word(words, STREAM), load_word(words, SHARED))
            result = _done(known, words, args) if is_free else as_bool(0)
        place += 1
    drop_reference(recent)
    return as_bool(0) if searching else result


@cache
def _finding() -> int:
    return compile_function("find", _find, 4)
