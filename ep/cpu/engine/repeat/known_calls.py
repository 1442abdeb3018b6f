"""Repeated calls of operators, run by compiled code: it compares the arguments, makes the results, and launches.

A call is determined by the dtypes and shapes of its operands, which are plain C-contiguous arrays, and by all its other
arguments, which must be the same objects as before. Its plan is a list of launches (`launch_list.py`). So no
Python code runs between the called function and the launches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.fields import Int64, word
from ep.common.native.object_layout import DATA, FIRST_SLOT, TUPLE_ITEMS, TUPLE_LENGTH, TYPE, data_address
from ep.common.native.python_calls import (
    add_reference,
    as_bool,
    as_tuple,
    call,
    clear_error,
    drop_reference,
    new_list,
    put_item,
)
from ep.common.native.python_function import bound_function
from ep.common.native.recent_calls import RecentCalls
from ep.common.native.record import Record
from ep.common.native.words import load_word
from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.jit import jit
from ep.cpu.engine.repeat.launch_list import are_expected, is_free
from ep.cpu.engine.repeat.recording import CpuRecording
from ep.include.arrays import CallFinder, PlannedCall
from ep.include.recording import MOST_TEMPORARY, Repeat

_MOST_ARRAYS: Final = 72  # of a call: operands, results and temporary values


class _KnownCall(Record):
    """The words of a call.

    The objects that follow the operands come after them, then names, then a shape and a dtype for each array that is
    made.
    """

    run = word()  # the function of the list
    launches = word()  # its words
    true = word()  # what it returns if all launches have been done
    num_operands = word()
    several_type = word()  # the types of a sequence of the operands; 0 if each is an argument
    other_type = word()
    num_args = word()  # operands or their sequence, other positional arguments, and keyword arguments
    num_names = word()
    out = word()  # the place of the argument that is the array for the result; 0 if there is none
    empty = word()  # the function that makes an array of a shape and a dtype
    num_made = word()  # results, then temporary values
    num_results = word()
    many = word()  # whether the function returns a list of results
    names = word()  # the first word of the names
    made = word()  # the first word of the shapes and dtypes


class CpuCallFinder(CallFinder):
    """A finder whose `find` is a C function that compares its arguments with the last 16 calls."""

    def __init__(self) -> None:
        """Compile the function that all finders share, unless this has been done."""
        self._calls = RecentCalls()
        self.find = bound_function("find", _finding(), self._calls)
        self.run = bound_function("run", _finding(), RecentCalls.__new__(RecentCalls))

    def known(self, call: PlannedCall, operands: Sequence[Any]) -> tuple[Any, ...] | None:
        repeat = _repeat(call, operands)
        if repeat is None:
            return None
        made = [one for array in repeat.written for one in (array.shape, array.dtype)]
        launches: Any = repeat.run
        several = (list, tuple) if call.in_sequence else (None, None)
        held = [*call.others, *call.names, *made]
        names = _KnownCall.num_words + len(call.others)
        num_args = len(call.others) + (1 if call.in_sequence else len(operands))
        several_type, other_type = (0 if one is None else id(one) for one in several)
        header = _KnownCall(
            run=id(launches),
            launches=data_address(launches.__self__.a_words),
            true=id(True),
            num_operands=len(operands),
            several_type=several_type,
            other_type=other_type,
            num_args=num_args,
            num_names=len(call.names),
            out=num_args - len(call.names) + call.names.index("out") if "out" in call.names else 0,
            empty=id(np.empty),
            num_made=len(repeat.written),
            num_results=len(repeat.results),
            many=call.many,
            names=names,
            made=names + len(call.names),
        )
        words = np.array([*header.words, *map(id, held)], np.int64)
        return words, launches, np.empty, *held

    def add(self, known: tuple[Any, ...]) -> None:
        self._calls.add(known)


def _repeat(call: PlannedCall, operands: Sequence[Any]) -> Repeat | None:
    """Return the launches of a plan; None if a list cannot have them, or if they need too many arrays."""

    def function(arrays: Any, inputs: Any, values: Any) -> Any:
        outputs = [arrays.empty(shape, call.dtype) for shape in call.shapes]
        call.plan(arrays, inputs, outputs)
        return outputs

    if len(operands) + len(call.shapes) > _MOST_ARRAYS:
        return None
    recording = CpuRecording(computes=False)
    repeat = recording.record(function, [np.empty(one.shape, one.dtype) for one in operands], (), (), ())
    temporary = sum(one.nbytes for one in repeat.written[len(call.shapes) :])
    if repeat.run is None or temporary > MOST_TEMPORARY or len(operands) + len(repeat.written) > _MOST_ARRAYS:
        return None
    return repeat


@jit
def _operands_of(words: _KnownCall, args: Int64, num_args):
    """Return the tuple of the operands of a call, whose first argument has them: a new reference, 0 if it has none."""
    if num_args == 0:
        return 0
    several = args[0]
    kind = load_word(several + TYPE, 0)
    if kind == words.other_type:
        add_reference(several)
        return several
    if kind != words.several_type:
        return 0
    several = as_tuple(several)  # no other thread can change the tuple meanwhile
    if several == 0:
        clear_error()  # out of memory
    return several


@jit
def _are_arrays(words: _KnownCall, operands, out):
    """Return whether operands, and the array for the result, are like those of a known call. out: 0 without it."""
    launches, num_operands = words.launches, words.num_operands
    if not are_expected(launches, operands, num_operands):
        return False
    return out == 0 or is_free(launches, operands, num_operands, out)


@jit
def _is(words: _KnownCall, args: Int64, num_args, names, several):
    """Return whether a call is a known one. num_args: the number of positional arguments. several: the tuple of the
    operands; 0 if each is an argument."""
    num_names = 0 if names == 0 else load_word(names + TUPLE_LENGTH, 0)
    total = num_args + num_names
    if total != words.num_args or num_names != words.num_names:
        return False
    name, other = Int64.at(words + 8 * words.names), Int64.at(words + 8 * _KnownCall.num_words)
    for place in range(num_names):
        if load_word(names + TUPLE_ITEMS, place) != name[place]:
            return False
    num_operands, operands, begin = words.num_operands, args, 1
    if several == 0:
        begin = num_operands
    else:
        operands = several + TUPLE_ITEMS
        if load_word(several + TUPLE_LENGTH, 0) != num_operands:
            return False
    out = words.out
    for place in range(begin, total):
        if args[place] != other[place - begin] and place != out:
            return False
    return _are_arrays(words, operands, 0 if out == 0 else args[out])


@jit
def _as_list(arrays: Int64, number):
    """Return a list of arrays, whose references it takes; 0 if an exception was raised."""
    results = new_list(number)
    for place in range(number):
        if results == 0:
            drop_reference(arrays[place])
        else:
            put_item(results, place, arrays[place])
    return results


@jit
def _done(words: _KnownCall, operands: Int64, out):
    """Make the results of a known call, and launch; return 0 if an exception was raised, and UNKNOWN if a launch is
    refused."""
    arrays, made = Int64.array_on_stack(_MOST_ARRAYS), words + 8 * words.made
    num_operands, num_made = words.num_operands, words.num_made
    for place in range(num_operands):
        arrays[place] = operands[place]
    results = Int64.at(arrays + 8 * num_operands)
    for place in range(num_made):
        if place == 0 and out != 0:
            array = out
            add_reference(array)
        else:
            array = call(words.empty, made + 16 * place, 2, 0)
        if array == 0:
            for other in range(place):
                drop_reference(results[other])
            return 0
        results[place] = array
    done, kept = call(words.run, arrays, num_operands + num_made, 0), 0
    if done == words.true:
        kept = words.num_results
        drop_reference(done)
    for place in range(kept, num_made):
        drop_reference(results[place])
    if kept == 0:
        return done  # UNKNOWN, or an exception was raised
    if words.many != 0:
        return _as_list(results, kept)
    return results[0]


@jit
def _found(recent, args, num_args, names, several):
    """Return the known call that a call is; 0 if it is none."""
    for position in range(load_word(recent + TUPLE_LENGTH, 0)):
        known = load_word(recent + TUPLE_ITEMS, position)
        words = load_word(load_word(known + TUPLE_ITEMS, 0) + DATA, 0)
        if _is(words, args, num_args, names, several):
            return known
    return 0


@jit
def _fits(known, several, out):
    """Return whether a known call has such operands, in a tuple, and such an array for its result."""
    words = _KnownCall.at(load_word(load_word(known + TUPLE_ITEMS, 0) + DATA, 0))
    if load_word(several + TUPLE_LENGTH, 0) != words.num_operands:
        return False
    return _are_arrays(words, several + TUPLE_ITEMS, 0 if words.out == 0 else out)


def _find(calls, args: Int64, num_args, names):
    recent, known, several, out = load_word(calls + FIRST_SLOT, 0), 0, 0, 0
    if recent == 0:  # it is `run`, whose arguments are known
        several, out = args[1], args[2]
        add_reference(several)
        if _fits(args[0], several, out):
            known = args[0]
    elif load_word(recent + TUPLE_LENGTH, 0) != 0:
        words, is_any = (
            _KnownCall.at(load_word(load_word(load_word(recent + TUPLE_ITEMS, 0) + TUPLE_ITEMS, 0) + DATA, 0)),
            True,
        )
        if words.several_type != 0:  # this is the same for all calls of a function
            several = _operands_of(words, args, num_args)
            is_any = several != 0
        if is_any:
            known = _found(recent, args, num_args, names, several)
    result = 0
    if known == 0:
        result = as_bool(0)  # UNKNOWN
    else:
        add_reference(known)  # other threads may add calls meanwhile
        words = _KnownCall.at(load_word(load_word(known + TUPLE_ITEMS, 0) + DATA, 0))
        if recent != 0 and words.out != 0:
            out = args[words.out]
        if words.out == 0:
            out = 0
        result = _done(words, args if several == 0 else several + TUPLE_ITEMS, out)
        drop_reference(known)
    if several != 0:
        drop_reference(several)
    return result


@cache
def _finding() -> int:
    return compile_function("find", _find, 4)
