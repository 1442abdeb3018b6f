"""Lists of launches: compiled code checks arrays, then does one launch after another without Python between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.object_layout import DATA, FIRST_SLOT, TYPE, WRITEABLE
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
from ep.common.native.words import load_int, load_word, stack_words, store_word
from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.jit import jit
from ep.cpu.engine.map.strided import OPERAND, is_expected, launch_strided, set_array
from ep.cpu.engine.repeat.list_function import list_function
from ep.cpu.lines.inline_copy import copy_bytes
from ep.cpu.shared.context import CONTEXT_WORDS
from ep.cpu.shared.layout import ADDRESS, Words, addresses_in, layout
from ep.cpu.shared.listed import CHECKED, GIVEN, INDICES, NOTED, STRIDED, Listed
from ep.cpu.threads.parallel import call_launcher
from ep.include.primitive.structure import kMaxOperands

_LIST: Final = layout("LaunchList", ndarray_type=ADDRESS, num_arrays=1, num_checks=1, num_launches=1)
"""The words of a list. An OPERAND follows for each array, and then the launches."""

_LAUNCH: Final = layout("ListedLaunch", kind=1, length=1, num_patches=1, num_frame=1, given=NOTED.frame)
"""A launch: its patches, of the layout PATCH, and then its frame follow. length: the words of all of these."""

PATCH: Final = layout("Patch", place=1, array=1, offset=1)
"""A word of the frame that is an address in an array: which array, and how many bytes from its own address. The
numbers after those of the arrays are of the indices that checks have found."""

_MOST_FRAME: Final = max(CONTEXT_WORDS, kMaxOperands)


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
        and its patches, which are triples as in PATCH. held: what the launches need: it must not be freed."""
        blocks = np.zeros((len(arrays), OPERAND.num_words), np.int64)
        for k, (block, array) in enumerate(zip(blocks, arrays, strict=True)):
            set_array(block, array, WRITEABLE * (k >= len(arrays) - num_written))
        words = [id(np.ndarray), len(arrays), num_checks, len(launches), *blocks.ravel().tolist()]
        addresses = [*addresses_in(_LIST, OPERAND, len(arrays))]
        for one, patches in launches:
            launch, places = _words(one, patches)
            addresses += [len(words) + place for place in places]
            words += launch
        super().__init__(np.array(words, np.int64), addresses)
        self.held = held
        self.run: Callable[..., bool] = list_function(running(), self.words, held)


def _words(one: Listed, patches: Sequence[tuple[int, int, int]]) -> tuple[list[int], list[int]]:
    """Return the words of a launch, and the numbers of those that are addresses."""
    given = [*one.given, *[0] * (NOTED.frame - len(one.given))]
    flat, frame = [word for patch in patches for word in patch], one.frame.tolist()
    for place, _, _ in patches:
        frame[place] = 0  # it is written at each call
    begin = _LAUNCH.num_words + len(flat)  # of the frame
    places = [*(_LAUNCH.given + place for place in GIVEN[one.kind]), *(begin + place for place in one.addresses)]
    return [one.kind, begin + len(frame), len(patches), len(frame), *given, *flat, *frame], places


@jit
def _are_in_axis(check, arrays, found):
    """Return whether indices are all in their axis, if they are few; then their address is written to `found`. check:
    the words of an INDICES."""
    count = load_word(check, INDICES.count)
    if count == 0:
        return False
    indices = load_word(load_word(arrays, load_word(check, INDICES.array)) + DATA, 0) + load_word(check, INDICES.begin)
    size, are_in = load_word(check, INDICES.size), True
    if load_word(check, INDICES.are_words) != 0:
        for place in range(count):
            are_in &= 0 <= load_word(indices, place) < size
    else:
        for place in range(count):
            are_in &= 0 <= load_int(indices + 4 * place) < size
    if are_in:
        store_word(found, 0, indices)
    return are_in


@jit
def _is_refused(data, launch, frame, arrays, found):
    """Do a launch with its frame; return whether it is refused. A check of indices that are not all in their axis is a
    call of Python, which gets the arrays, and is refused if it returns no array or raises. found: for each check a word
    for the address of the indices, and, after these words, one for the array that they are in, if Python made it."""
    kind, given = load_word(launch, _LAUNCH.kind), launch + 8 * _LAUNCH.given
    if kind == CHECKED:
        num_bytes, in_place = load_word(given, NOTED.num_bytes), load_word(given, NOTED.in_place)
        return call_launcher(load_word(given, 0), frame, num_bytes, in_place, given + 8 * NOTED.numbers) != 0
    if kind == STRIDED:
        return launch_strided(load_word(given, 0), load_word(given, 1), frame, load_word(given, 2) != 0) != 0
    found += 8 * load_word(given, INDICES.place)
    if _are_in_axis(given, arrays, found):
        return False
    array = call(load_word(given, INDICES.function), arrays, load_word(data, _LIST.num_arrays), 0)
    if array == 0:
        return True
    if load_word(array + TYPE, 0) != load_word(data, _LIST.ndarray_type):
        drop_reference(array)
        return True
    store_word(found, 0, load_word(array + DATA, 0))
    store_word(found, load_word(data, _LIST.num_checks), array)
    return False


@jit
def are_expected(data, arrays, number):
    """Return whether the first arrays of a call, so many, are like those of a list. data: the words of the list."""
    block, ndarray_type = data + 8 * _LIST.num_words, load_word(data, _LIST.ndarray_type)
    for k in range(number):
        if not is_expected(load_word(arrays, k), block, ndarray_type):
            return False
        block += 8 * OPERAND.num_words
    return True


@jit
def is_free(data, arrays, number, array):
    """Return whether an array is like that of a list with a number, and shares no memory with the arrays before it."""
    blocks = data + 8 * _LIST.num_words
    block = blocks + 8 * OPERAND.num_words * number
    if not is_expected(array, block, load_word(data, _LIST.ndarray_type)):
        return False
    address = load_word(array + DATA, 0)
    begin, end, free = address + load_word(block, OPERAND.low), address + load_word(block, OPERAND.high), True
    for k in range(number):
        address, block = load_word(load_word(arrays, k) + DATA, 0), blocks + 8 * OPERAND.num_words * k
        free &= end <= address + load_word(block, OPERAND.low) or address + load_word(block, OPERAND.high) <= begin
    return free


@jit
def _launch_all(data, arrays, found):
    """Do the launches, and return whether all have been done. If not, one was refused, or an exception was raised.
    found: as for `_is_refused`."""
    num_arrays, frame = load_word(data, _LIST.num_arrays), stack_words(_MOST_FRAME)
    launch = data + 8 * (_LIST.num_words + OPERAND.num_words * num_arrays)
    for number in range(load_word(data, _LIST.num_launches)):
        if number > 0 and check_signals() != 0:
            return False
        patch, num_patches = launch + 8 * _LAUNCH.num_words, load_word(launch, _LAUNCH.num_patches)
        copy_bytes(frame, patch + 8 * PATCH.num_words * num_patches, 8 * load_word(launch, _LAUNCH.num_frame))
        for _ in range(num_patches):
            array = load_word(patch, PATCH.array)
            if array < num_arrays:
                address = load_word(load_word(arrays, array) + DATA, 0)
            else:
                address = load_word(found, array - num_arrays)
            store_word(frame, load_word(patch, PATCH.place), address + load_word(patch, PATCH.offset))
            patch += 8 * PATCH.num_words
        if _is_refused(data, launch, frame, arrays, found):
            return False
        launch += 8 * load_word(launch, _LAUNCH.length)
    return True


def _run(holder, args, num_args, names):
    words = load_word(holder + FIRST_SLOT, 0)
    if words == 0:
        bad_argument()
        return 0
    data = load_word(words + DATA, 0)
    if names != 0 or num_args != load_word(data, _LIST.num_arrays) or not are_expected(data, args, num_args):
        return as_bool(0)
    num_checks, found = load_word(data, _LIST.num_checks), 0
    if num_checks > 0:  # of this call: another thread, or a handler of a signal, may use the list meanwhile
        found = allocate(16 * num_checks)
        if found == 0:
            no_memory()
            return 0
        for check in range(num_checks):
            store_word(found, num_checks + check, 0)
    add_reference(words)
    done = _launch_all(data, args, found)
    drop_reference(words)
    if num_checks > 0:
        for check in range(num_checks):
            if load_word(found, num_checks + check) != 0:
                drop_reference(load_word(found, num_checks + check))
        release(found)
    if not done and error_occurred() != 0:
        return 0
    return as_bool(1 if done else 0)


@cache
def running() -> int:
    """Return the address of `_run`; `CpuRecording` compiles it, before there is a list."""
    return compile_function("launches", _run, 4)
