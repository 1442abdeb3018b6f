"""Repeated calls of operators on arrays of operators, whose keys are compared. The steps of a call are those of its
plan: compiled launches, which know those before, and functions that make arrays and check indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from ep.common.native.fields import Fields, Int64, pointer, word, words
from ep.common.native.jit import jit
from ep.common.native.known_calls import Known, KnownCalls, Step, finding, known_call
from ep.common.native.python_calls import clear_error, compare
from ep.cuda.device.slots import CudaArrayObject, KeyedSlots
from ep.cuda.launch.check import is_not_captured
from ep.cuda.launch.code import as_int, compile_function
from ep.cuda.launch.known import Launched
from ep.cuda.launch.layout import SharedWords
from ep.include.arrays import Keyed, PlannedCall
from ep.run.loop import Loop
from ep.run.steps import Launch

_EQUAL: Final = 2  # Py_EQ


class Compared(Fields):
    """What arrays are compared by. stream: its handle. out_key, keys: of the result, and of the operands; 0 for a
    number."""

    shared = pointer(SharedWords)
    stream = word()
    num_operands = word()
    out_key = word()
    keys = words(0)


class CudaCallFinder(KnownCalls):
    """The finder of calls on a GPU."""

    def __init__(self, shared: int, stream: int, empty: Callable[[Any, Any], Callable[[], Any] | None]) -> None:
        """shared: the address of the words that all primitives share; stream: the handle of the operators' stream.
        empty: (shape, dtype) -> the function that makes an array while the stream is not captured; None if none does.
        """
        super().__init__(_finding())
        self._shared, self._stream, self._empty = shared, stream, empty

    def known(self, call: PlannedCall, operands: Sequence[Any]) -> Known | None:
        loop, makers = Loop(call.plan.steps), [self._empty(shape, call.plan.dtype) for shape in call.plan.shapes]
        fixed = [call.arrays.stream, call.arrays, *loop.fixed]
        end = len(fixed) + len(operands) + len(makers)
        steps: list[Step] = [(make, (), end - 1 - k) for k, make in enumerate(makers)]
        if "out" in call.names:
            steps = [(_is_free, range(len(fixed), end), loop.made[0])]
        for function, arguments, dtype, place, _ in loop.drafts or ():
            if isinstance(function, Launch):
                if isinstance(function.primitive, Launched):
                    function.primitive.prepare_entry()  # this may replace Launch
                function = function.primitive.Launch
            elif function is None and arguments is not None:
                function, arguments = self._empty(arguments, dtype), ()
                makers.append(function)
            read = [[at % end for at in one] if type(one) is list else one % end for one in arguments or ()]
            steps.append((function, read, place))
        if None in makers:  # of arrays without elements
            return None
        result: Any = makers[0]
        keys = [one.call_key if isinstance(one, Keyed) else None for one in (result(), *operands)]
        of_device = self._shared, self._stream, len(operands), *(0 if key is None else id(key) for key in keys)
        return known_call(call, len(operands), of_device, fixed, loop.made, steps, keys)


def _is_free(*arrays: Any) -> bool:
    """Return whether the last array may be written, and shares no memory with the others, of which some are numbers."""
    *operands, (begin, _, _, may_write, *_) = (one.memory for one in arrays if isinstance(one, KeyedSlots))
    end = begin + arrays[-1].nbytes
    others = [(memory[0], memory[0] + memory[1] * memory[2].itemsize) for memory in operands]
    return may_write and all(end <= first or last <= begin for first, last in others)


@jit
def _is_like(array: CudaArrayObject, key: int, shared: SharedWords) -> bool:
    """Return whether an array of operators has a key, or it is 0."""
    if key == 0:
        return True
    found = array.call_key if array.type == shared.array_type else 0
    if found == key or found == 0:
        return found != 0
    equal = compare(found, key, as_int(_EQUAL))
    if equal < 0:
        clear_error()
    return equal == 1


@jit
def _fits(compared: Compared, operands: Int64, out: CudaArrayObject) -> bool:
    shared = compared.shared
    for place in range(compared.num_operands):
        if not _is_like(CudaArrayObject.at(operands[place]), compared.keys[place], shared):
            return False
    if out != 0 and not _is_like(out, compared.out_key, shared):
        return False
    return is_not_captured(compared.stream, shared)


@cache
def _finding() -> int:
    return compile_function("find", finding(jit, _fits), 4)
