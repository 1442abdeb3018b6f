"""Lists of launches: compiled code checks arrays, then does one launch after another without Python between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.fields import Int64, address, word, words
from ep.common.native.object_layout import FIRST_SLOT, WRITEABLE
from ep.common.native.objects import ArrayObject
from ep.common.native.python_calls import (
    add_reference,
    allocate,
    as_bool,
    bad_argument,
    call,
    check_signals,
    drop_reference,
    error_occurred,
    no_memory,
    release,
)
from ep.common.native.record import Record, Words, addresses_in
from ep.common.native.words import load_word
from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vector_class import elements
from ep.cpu.engine.map.strided import StridedLoops, StridedOperand, is_expected, launch_strided, set_array
from ep.cpu.engine.repeat.list_function import list_function
from ep.cpu.lines.inline_copy import copy_bytes
from ep.cpu.shared.context import Context
from ep.cpu.shared.listed import CHECKED, GIVEN, STRIDED, Indices, Listed, Noted
from ep.cpu.shared.state import State
from ep.cpu.threads.parallel import call_launcher
from ep.include.data_type import DataType
from ep.include.primitive.structure import kMaxOperands


class ListHeader(Record):
    """The words of a list. A `StridedOperand` follows for each array, and then the launches.

    num_compared: how many of the arrays are compared; 0 if the caller has done it.
    """

    ndarray_type = address()
    num_arrays = word()
    num_compared = word()
    num_checks = word()
    num_launches = word()


class _ListedLaunch(Record):
    """A launch: its `Patch`es, and then its frame follow. length: the words of all of these."""

    kind = word()
    length = word()
    num_patches = word()
    num_frame = word()
    given = words(Noted.frame)


class Patch(Record):
    """A word of the frame that is an address in an array: which array, and how many bytes from its own address.

    The numbers after those of the arrays are of the indices that checks have found.
    """

    place = word()
    array = word()
    offset = word()


_MOST_FRAME: Final = max(Context.num_words, kMaxOperands)


class LaunchList(Words):
    """Launches that are done by one call.

    words, held: the words that describe the launches, and all that these need.
    run: has the arrays, and returns whether all launches have been done. It returns False if an array is not as
    expected, and then nothing has been written, or if a launch has been refused, and then those before it are done. It
    raises what a handler of a signal raises, between two launches.
    """

    def __init__(
        self,
        arrays: Sequence[np.ndarray[Any, Any]],
        num_written: int,
        num_checks: int,
        launches: Sequence[Any],
        held: Any,
    ) -> None:
        """arrays: like those of each call, the written ones last. num_checks: of indices. launches: for each, a Listed,
        and its patches, which are triples as in Patch. held: what the launches need: it must not be freed."""
        blocks = np.zeros((len(arrays), StridedOperand.num_words), np.int64)
        for k, (block, array) in enumerate(zip(blocks, arrays, strict=True)):
            set_array(block, array, WRITEABLE * (k >= len(arrays) - num_written))
        words = [id(np.ndarray), len(arrays), len(arrays), num_checks, len(launches), *blocks.ravel().tolist()]
        addresses = [*addresses_in(ListHeader, StridedOperand, len(arrays))]
        for one, patches in launches:
            launch, places = _words(one, patches)
            addresses += [len(words) + place for place in places]
            words += launch
        super().__init__(np.array(words, np.int64), addresses)
        self.held = held
        self.run: Callable[..., bool] = list_function(running(), self.words, held)


def _words(one: Listed, patches: Sequence[tuple[int, int, int]]) -> tuple[list[int], list[int]]:
    """Return the words of a launch, and the numbers of those that are addresses."""
    given = [*one.given, *[0] * (Noted.frame - len(one.given))]
    flat, frame = [word for patch in patches for word in patch], one.frame.tolist()
    for place, _, _ in patches:
        frame[place] = 0  # it is written at each call
    begin = _ListedLaunch.num_words + len(flat)  # of the frame
    places = [*(_ListedLaunch.given + place for place in GIVEN[one.kind]), *(begin + place for place in one.addresses)]
    return [one.kind, begin + len(frame), len(patches), len(frame), *given, *flat, *frame], places


def _resolver(data_type: DataType) -> Callable[..., bool]:
    """Return the function that checks indices of a type."""
    Numbers, num_bytes = elements(data_type), data_type.itemsize

    @jit
    def resolved(check: Indices, address: int, num_checks: int, found: Int64) -> bool:
        """Return whether all indices are in their axis, or are counted from its end where that is allowed. Then the
        address of those that launches read is written to `found`, and that of new memory for them behind it."""
        count, size, low = check.count, check.size, check.low
        indices, least, most = Numbers.at(address), size, low - 1
        for place in range(count):
            least, most = min(least, indices[place]), max(most, indices[place])
        if least < low or most >= size:
            return False
        found[0] = address
        if least < 0:
            memory = allocate(count * num_bytes)
            if memory == 0:
                return False
            wrapped = Numbers.at(memory)
            for place in range(count):
                wrapped[place] = indices[place] + (size if indices[place] < 0 else 0)
            found[0] = memory
            found[2 * num_checks] = memory
        return True

    return resolved


_resolved_ints, _resolved_words = map(_resolver, (DataType.kInt32, DataType.kInt64))


@jit
def _is_refused(data: ListHeader, launch: _ListedLaunch, frame: Int64, arrays: Int64, found: Int64) -> bool:
    """Do a launch with its frame; return whether it is refused. A check of indices that are not all in their axis is a
    call of Python, which gets the arrays, and is refused if it returns no array or raises. found: for each check a word
    for the address of the indices, and, after these words, one for the array that they are in, if Python made it, and
    one for memory that they are in, which is released."""
    kind, given = launch.kind, launch.given
    if kind == CHECKED:
        noted = Noted.at(given)
        return call_launcher(noted.launcher, frame, noted.num_bytes, noted.in_place, noted.numbers) != 0
    if kind == STRIDED:
        return launch_strided(State.at(given[0]), StridedLoops.at(given[1]), frame, given[2] != 0) != 0
    check = Indices.at(given)
    found = Int64.at(found + 8 * check.place)
    if check.count > 0:
        indices, number = check.fixed, data.num_checks
        if indices == 0:
            indices = ArrayObject.at(arrays[check.array]).data + check.begin
        if check.are_words != 0:
            are_resolved = _resolved_words(check, indices, number, found)
        else:
            are_resolved = _resolved_ints(check, indices, number, found)
        if are_resolved:
            return False
    array = ArrayObject.at(call(check.function, arrays, data.num_arrays, 0))
    if array == 0:
        return True
    if array.type != data.ndarray_type:
        drop_reference(array)
        return True
    found[0] = array.data
    found[data.num_checks] = array
    return False


@jit
def _expected(data: ListHeader) -> StridedOperand:
    """Return what the arrays of a call must be like."""
    return StridedOperand.at(data[1])


@jit
def are_expected(data: ListHeader, arrays: Int64, number: int) -> bool:
    """Return whether the first arrays of a call, so many, are like those of a list. data: the words of the list."""
    expected, ndarray_type, are_all = _expected(data), data.ndarray_type, True
    for k in range(number):
        are_all = are_all and is_expected(ArrayObject.at(arrays[k]), expected[k], ndarray_type)
    return are_all


@jit
def is_free(data: ListHeader, arrays: Int64, number: int, array: ArrayObject) -> bool:
    """Return whether an array is like that of a list with a number, and shares no memory with the arrays before it."""
    expected = _expected(data)
    if not is_expected(array, expected[number], data.ndarray_type):
        return False
    address = array.data
    begin, end, free = address + expected[number].low, address + expected[number].high, True
    for k in range(number):
        address = ArrayObject.at(arrays[k]).data
        free &= end <= address + expected[k].low or address + expected[k].high <= begin
    return free


@jit
def _launch_all(data: ListHeader, arrays: Int64, found: Int64) -> bool:
    """Do the launches, and return whether all have been done. If not, one was refused, or an exception was raised.
    found: as for `_is_refused`."""
    num_arrays, frame = data.num_arrays, Int64.array_on_stack(_MOST_FRAME)
    launch = _ListedLaunch.at(_expected(data)[num_arrays])
    for number in range(data.num_launches):
        if number > 0 and check_signals() != 0:
            return False
        patches, num_patches = Patch.at(launch[1]), launch.num_patches
        copy_bytes(frame, patches[num_patches], 8 * launch.num_frame)
        for k in range(num_patches):
            array = patches[k].array
            address = ArrayObject.at(arrays[array]).data if array < num_arrays else found[array - num_arrays]
            frame[patches[k].place] = address + patches[k].offset
        if _is_refused(data, launch, frame, arrays, found):
            return False
        launch = _ListedLaunch.at(launch + 8 * launch.length)
    return True


def _run(holder: int, args: Int64, num_args: int, names: int) -> int:
    words = load_word(holder + FIRST_SLOT, 0)
    if words == 0:
        bad_argument()
        return 0
    data = ListHeader.at(ArrayObject.at(words).data)
    if names != 0 or num_args != data.num_arrays or not are_expected(data, args, data.num_compared):
        return as_bool(0)
    num_checks, found = data.num_checks, Int64.at(0)
    if num_checks > 0:  # of this call: another thread, or a handler of a signal, may use the list meanwhile
        found = Int64.at(allocate(24 * num_checks))
        if found == 0:
            no_memory()
            return 0
        for place in range(num_checks, 3 * num_checks):
            found[place] = 0
    add_reference(words)
    done = _launch_all(data, args, found)
    drop_reference(words)
    if num_checks > 0:
        for check in range(num_checks):
            if found[num_checks + check] != 0:
                drop_reference(found[num_checks + check])
            release(found[2 * num_checks + check])
        release(found)
    if not done and error_occurred() != 0:
        return 0
    return as_bool(1 if done else 0)


@cache
def running() -> int:
    """Return the address of `_run`; `CpuRecording` compiles it, before there is a list."""
    return compile_function("launches", _run, 4)
