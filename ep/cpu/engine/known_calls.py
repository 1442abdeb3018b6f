"""Repeated calls of operators, run by compiled code: it compares the arguments, makes the result, and launches.

A call is determined by the dtypes and shapes of its operands, which are plain C-contiguous arrays, and by all its other
arguments, which must be the same objects as before. So no Python code runs between the called function and Launch.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.object_layout import (
    ALIGNED,
    C_CONTIGUOUS,
    DATA,
    DIMS,
    DTYPE,
    FIRST_SLOT,
    FLAGS,
    NUM_DIMS,
    TUPLE_ITEMS,
    TUPLE_LENGTH,
    TYPE,
)
from ep.common.native.python_calls import add_reference, as_bool, call, drop_reference
from ep.common.native.python_function import bound_function
from ep.common.native.recent_calls import RecentCalls
from ep.common.native.words import load_int, load_word, stack_words, store_word
from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.jit import jit
from ep.cpu.shared.layout import layout
from ep.include.arrays import CallFinder, KnownCall, Placeholder

_MOST_ARGUMENTS: Final = 8  # of a call, including keyword arguments
_MOST_DIMS: Final = 8
_MOST_OF_LAUNCH: Final = 16
_ORDINARY: Final = C_CONTIGUOUS | ALIGNED

_OPERAND: Final = layout("KnownOperand", dtype=1, num_dims=1, dims=_MOST_DIMS)
_CALL: Final = layout(
    "KnownCall",
    ndarray_type=1,
    num_operands=1,
    num_args=1,  # operands, other positional arguments, and keyword arguments
    num_names=1,
    operands=_OPERAND.num_words * _MOST_ARGUMENTS,
    others=_MOST_ARGUMENTS,  # the objects that follow the operands
    names=_MOST_ARGUMENTS,
    empty=1,  # the function that makes an array of a shape and a dtype
    shape=1,
    dtype=1,
    launch=1,
    num_arguments=1,
    arguments=_MOST_OF_LAUNCH,  # objects, or an array by its number: -1 the result, -2 the first operand ...
    num_indices=1,  # the number of indices to check
    indices=1,  # the operand that they are in
    size=1,  # of their axis
    are_words=1,  # whether they are int64, not int32
)
_RESULT: Final = -1
_MOST_INDICES: Final = 4096  # NumPy checks more of them, by vectors
_OF_INDICES: Final = np.dtype(np.int32), np.dtype(np.int64)


class CpuCallFinder(CallFinder):
    """A finder whose `find` is a C function that compares its arguments with the last 16 calls."""

    def __init__(self) -> None:
        """Compile the function that all finders share, unless this has been done."""
        self._calls = RecentCalls()
        self.find = bound_function("find", _finding(), self._calls)

    def known(self, call: KnownCall) -> tuple[Any, ...] | None:
        operands, others = call.args[: call.num_operands], call.args[call.num_operands :]
        if (
            len(call.args) > _MOST_ARGUMENTS
            or len(call.arguments) > _MOST_OF_LAUNCH
            or max(one.ndim for one in operands) > _MOST_DIMS
        ):
            return None
        if call.indices is not None:
            indices = operands[call.indices[0]]
            if indices.dtype not in _OF_INDICES or indices.size > _MOST_INDICES:
                return None
        held = {"ndarray_type": np.ndarray, "empty": np.empty, "shape": call.shape, "dtype": call.dtype}
        held["launch"] = call.launch
        words = np.zeros(_CALL.num_words, np.int64)
        for name, value in held.items():
            words[getattr(_CALL, name)] = id(value)
        words[_CALL.num_operands], words[_CALL.num_names] = len(operands), len(call.names)
        words[_CALL.num_args], words[_CALL.num_arguments] = len(call.args), len(call.arguments)
        for place, one in enumerate(operands):
            first = _CALL.operands + place * _OPERAND.num_words
            words[first : first + 2 + one.ndim] = id(one.dtype), one.ndim, *one.shape
        words[_CALL.others :][: len(others)] = [id(one) for one in others]
        words[_CALL.names :][: len(call.names)] = [id(one) for one in call.names]
        words[_CALL.arguments :][: len(call.arguments)] = [_word(one) for one in call.arguments]
        if call.indices is not None:
            words[_CALL.num_indices], words[_CALL.are_words] = indices.size, indices.dtype.itemsize == 8
            words[_CALL.indices], words[_CALL.size] = call.indices
        return words, *held.values(), *others, *call.names, *call.arguments, *(one.dtype for one in operands)

    def add(self, known: tuple[Any, ...]) -> None:
        self._calls.add(known)


def _word(argument: Any) -> int:
    if isinstance(argument, Placeholder):
        return _RESULT if argument.number is None else _RESULT - 1 - argument.number
    return id(argument)


@jit
def _is(words, args, num_args, names):
    """Return whether a call is a known one. num_args: the number of positional arguments."""
    num_names = 0 if names == 0 else load_word(names + TUPLE_LENGTH, 0)
    if num_args + num_names != load_word(words, _CALL.num_args) or num_names != load_word(words, _CALL.num_names):
        return False
    for place in range(num_names):
        if load_word(names + TUPLE_ITEMS, place) != load_word(words, _CALL.names + place):
            return False
    num_operands = load_word(words, _CALL.num_operands)
    for place in range(num_operands, num_args + num_names):
        if load_word(args, place) != load_word(words, _CALL.others + place - num_operands):
            return False
    ndarray_type, operand = load_word(words, _CALL.ndarray_type), words + 8 * _CALL.operands
    for place in range(num_operands):
        array = load_word(args, place)
        if load_word(array + TYPE, 0) != ndarray_type or load_word(array + DTYPE, 0) != load_word(operand, 0):
            return False
        num_dims = load_int(array + NUM_DIMS)
        if num_dims != load_word(operand, 1) or load_int(array + FLAGS) & _ORDINARY != _ORDINARY:
            return False
        dims = load_word(array + DIMS, 0)
        for axis in range(num_dims):
            if load_word(dims, axis) != load_word(operand, 2 + axis):
                return False
        operand += 8 * _OPERAND.num_words
    return _are_indices(words, args)


@jit
def _are_indices(words, args):
    """Return whether all indices are in their axis."""
    num_indices, are_in = load_word(words, _CALL.num_indices), True
    if num_indices == 0:
        return True
    data, size = load_word(load_word(args, load_word(words, _CALL.indices)) + DATA, 0), load_word(words, _CALL.size)
    are_words = load_word(words, _CALL.are_words) != 0
    for place in range(num_indices):
        index = load_word(data, place) if are_words else load_int(data + 4 * place)
        are_in &= 0 <= index < size
    return are_in


@jit
def _done(words, args):
    """Make the result of a known call, and launch; return 0 if an exception was raised."""
    arguments = stack_words(_MOST_OF_LAUNCH)
    store_word(arguments, 0, load_word(words, _CALL.shape))
    store_word(arguments, 1, load_word(words, _CALL.dtype))
    result = call(load_word(words, _CALL.empty), arguments, 2, 0)
    if result == 0:
        return 0
    num_arguments = load_word(words, _CALL.num_arguments)
    for place in range(num_arguments):
        argument = load_word(words, _CALL.arguments + place)
        if argument == _RESULT:
            argument = result
        elif argument < 0:
            argument = load_word(args, _RESULT - 1 - argument)
        store_word(arguments, place, argument)
    nothing = call(load_word(words, _CALL.launch), arguments, num_arguments, 0)
    if nothing == 0:
        drop_reference(result)
        return 0
    drop_reference(nothing)
    return result


def _find(calls, args, num_args, names):
    recent = load_word(calls + FIRST_SLOT, 0)
    if recent != 0:
        for position in range(load_word(recent + TUPLE_LENGTH, 0)):
            known = load_word(recent + TUPLE_ITEMS, position)
            words = load_word(load_word(known + TUPLE_ITEMS, 0) + DATA, 0)
            if _is(words, args, num_args, names):
                add_reference(known)  # other threads may add calls meanwhile
                result = _done(words, args)
                drop_reference(known)
                return result
    return as_bool(0)  # UNKNOWN


@cache
def _finding() -> int:
    return compile_function("find", _find, 4)
