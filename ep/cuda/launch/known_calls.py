"""Repeated calls of operators on arrays of operators, whose keys are compared. The steps of a call are those of its
plan: compiled launches, which know those before, and functions that make arrays and check indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from ep.common.native.jit import jit
from ep.common.native.known_calls import Known, KnownCalls, Steps, finding, known_call
from ep.common.native.object_layout import TUPLE_ITEMS, TYPE
from ep.common.native.python_calls import as_int64, clear_error, compare, error_occurred
from ep.common.native.words import load_word
from ep.cuda.device.slots import CALL_KEY, MEMORY
from ep.cuda.launch.check import is_not_captured
from ep.cuda.launch.code import as_int, compile_function
from ep.cuda.launch.known import Launched
from ep.cuda.launch.layout import ARRAY_TYPE, TRUE
from ep.include.arrays import Keyed, PlannedCall
from ep.run.loop import Loop
from ep.run.steps import Launch

_EQUAL: Final = 2  # Py_EQ
_ADDRESS, _MAY_WRITE = 0, 3  # items of an array's memory

SHARED, STREAM, NUM_OPERANDS, OUT_KEY, OUT_BYTES, OPERANDS = range(6)
"""The words by which arrays are compared. The key of each operand and its bytes follow; for a number, two zeros."""


class CudaCallFinder(KnownCalls):
    """The finder of calls on a GPU."""

    def __init__(self, shared: int, stream: int, empty: Callable[[Any, Any], Callable[[], Any] | None]) -> None:
        """shared: the address of the words that all primitives share; stream: the handle of the operators' stream.
        empty: (shape, dtype) -> the function that makes an array while the stream is not captured; None if none does.
        """
        super().__init__(_finding())
        self._shared, self._stream, self._empty = shared, stream, empty

    def known(self, call: PlannedCall, operands: Sequence[Any]) -> Known | None:
        results = [self._empty(shape, call.dtype) for shape in call.shapes]
        steps = _steps(call, len(operands), self._empty, results)
        if steps is None:
            return None
        result: Any = results[0]
        like = [one if isinstance(one, Keyed) else None for one in (result(), *operands)]  # others are numbers
        keys = [(one.call_key, one.nbytes) if one is not None else (None, 0) for one in like]
        words = [word for key, size in keys for word in (0 if key is None else id(key), size)]
        of_device = self._shared, self._stream, len(operands), *words
        return known_call(call, len(operands), of_device, steps, keys)


def _steps(
    call: PlannedCall, num_operands: int, empty: Callable[[Any, Any], Any], results: Sequence[Any]
) -> Steps | None:
    """Return the steps of a call; None for a plan with arrays without elements.

    results: the functions that make them.
    """
    loop = Loop(call.plan.steps)
    fixed, steps = [call.arrays.stream, call.arrays, *loop.fixed], list[tuple[Any, Sequence[Any], int]]()
    end = len(fixed) + num_operands + len(results)
    if "out" not in call.names:
        steps += [(make, (), end - 1 - k) for k, make in enumerate(results)]
    for function, arguments, dtype, place, _ in loop.drafts or ():
        make = function
        if isinstance(function, Launch):
            if isinstance(function.primitive, Launched):
                function.primitive.prepare_entry()  # this may replace Launch
            make = function.primitive.Launch
        if function is None and arguments is None:
            steps.append((None, (), place))
            continue
        if function is None:
            make, arguments = empty(arguments, dtype), ()
        if make is None:
            return None
        steps.append((make, [[at % end for at in one] if type(one) is list else one % end for one in arguments], place))
    return None if None in results else Steps(fixed, loop.made, steps)


@jit
def _is_equal(key, wanted):
    """Return whether the key of an array, 0 without one, is equal to another one."""
    if key == wanted:
        return True
    if key == 0:
        return False
    equal = compare(key, wanted, as_int(_EQUAL))
    if equal < 0:
        clear_error()
    return equal == 1


@jit
def _begin(array):
    """Return the address of the memory of an array of operators."""
    return as_int64(load_word(load_word(array + MEMORY, 0) + TUPLE_ITEMS, _ADDRESS))


@jit
def _is_free(of_device, operands, out):
    """Return whether an array can be the result: it may be written, and shares no memory with operands."""
    shared = load_word(of_device, SHARED)
    if load_word(out + TYPE, 0) != load_word(shared, ARRAY_TYPE):
        return False
    if not _is_equal(load_word(out + CALL_KEY, 0), load_word(of_device, OUT_KEY)):
        return False
    free = load_word(load_word(out + MEMORY, 0) + TUPLE_ITEMS, _MAY_WRITE) == load_word(shared, TRUE)
    begin, word = _begin(out), of_device + 8 * OPERANDS
    end = begin + load_word(of_device, OUT_BYTES)
    for place in range(load_word(of_device, NUM_OPERANDS)):
        if load_word(word, 0) != 0:
            other = _begin(load_word(operands, place))
            free &= end <= other or other + load_word(word, 1) <= begin
        word += 16
    if error_occurred() != 0:
        clear_error()
        return False
    return free


@jit
def _fits(of_device, operands, out):
    shared, word = load_word(of_device, SHARED), of_device + 8 * OPERANDS
    for place in range(load_word(of_device, NUM_OPERANDS)):
        array, key = load_word(operands, place), load_word(word, 0)
        if key != 0:  # else it is a number, which Python has converted
            if load_word(array + TYPE, 0) != load_word(shared, ARRAY_TYPE):
                return False
            if not _is_equal(load_word(array + CALL_KEY, 0), key):
                return False
        word += 16
    if out != 0 and not _is_free(of_device, operands, out):
        return False
    return is_not_captured(load_word(of_device, STREAM), shared)


@cache
def _finding() -> int:
    return compile_function("find", finding(jit, _fits), 4)
