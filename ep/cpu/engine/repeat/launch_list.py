"""Lists of launches: compiled code checks arrays, then does one launch after another without Python between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.object_layout import DATA, FIRST_SLOT, WRITEABLE
from ep.common.native.python_calls import (
    add_reference,
    as_bool,
    bad_argument,
    call,
    check_signals,
    drop_reference,
    error_occurred,
    is_true,
)
from ep.common.native.words import load_word, stack_words, store_word
from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.jit import jit
from ep.cpu.engine.map.strided import OPERAND, is_expected, launch_strided, set_array
from ep.cpu.engine.repeat.index_check import IndexCheck
from ep.cpu.engine.repeat.list_function import list_function
from ep.cpu.lines.inline_copy import copy_bytes
from ep.cpu.shared.context import CONTEXT_WORDS
from ep.cpu.shared.layout import ADDRESS, Words, addresses_in, layout
from ep.cpu.shared.listed import CHECKED, GIVEN, NOTED, STRIDED, Listed
from ep.cpu.threads.parallel import call_launcher
from ep.include.primitive.structure import kMaxOperands

_LIST: Final = layout("LaunchList", ndarray_type=ADDRESS, num_arrays=1, num_launches=1, begin=1)
"""The words of a list. An OPERAND follows for each array, then a word for the address that each check of indices
writes, and at `begin` the launches."""

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
        checks: Sequence[IndexCheck],
        launches: Sequence[Any],
        held: Any,
    ) -> None:
        """arrays: like those of each call, the written ones last. checks: those that launches call. launches: for each,
        a Listed, and its patches, which are triples as in PATCH. held: what the launches need: it must not be freed."""
        blocks = np.zeros((len(arrays), OPERAND.num_words), np.int64)
        for k, (block, array) in enumerate(zip(blocks, arrays, strict=True)):
            set_array(block, array, WRITEABLE * (k >= len(arrays) - num_written))
        found = _LIST.num_words + blocks.size
        begin = found + len(checks)
        words = [id(np.ndarray), len(arrays), len(launches), begin, *blocks.ravel().tolist(), *[0] * len(checks)]
        addresses = [*addresses_in(_LIST, OPERAND, len(arrays))]
        for one, patches in launches:
            launch, places = _words(one, patches)
            addresses += [len(words) + place for place in places]
            words += launch
        super().__init__(np.array(words, np.int64), addresses)
        self.local = range(found, begin)
        for place, check in zip(self.local, checks, strict=True):
            check.address = self.words[place : place + 1]
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
def _is_refused(launch, frame, args, num_arrays):
    """Do a launch with its frame; return whether it is refused. Python calls get the arrays, and are refused if they
    return False or raise."""
    kind, given = load_word(launch, _LAUNCH.kind), launch + 8 * _LAUNCH.given
    if kind == CHECKED:
        num_bytes, in_place = load_word(given, NOTED.num_bytes), load_word(given, NOTED.in_place)
        return call_launcher(load_word(given, 0), frame, num_bytes, in_place, given + 8 * NOTED.numbers) != 0
    if kind == STRIDED:
        return launch_strided(load_word(given, 0), load_word(given, 1), frame, load_word(given, 2) != 0) != 0
    result = call(load_word(given, 0), args, num_arrays, 0)
    if result == 0:
        return True
    done = is_true(result) == 1
    drop_reference(result)
    return not done


def _run(holder, args, num_args, names):
    words = load_word(holder + FIRST_SLOT, 0)
    if words == 0:
        bad_argument()
        return 0
    data = load_word(words + DATA, 0)
    num_arrays, ndarray_type = load_word(data, _LIST.num_arrays), load_word(data, _LIST.ndarray_type)
    if names != 0 or num_args != num_arrays:
        return as_bool(0)
    frame, block = stack_words(_MOST_FRAME), data + 8 * _LIST.num_words
    for k in range(num_arrays):
        if not is_expected(load_word(args, k), block, ndarray_type):
            return as_bool(0)
        block += 8 * OPERAND.num_words
    add_reference(words)
    launch = data + 8 * load_word(data, _LIST.begin)
    for _ in range(load_word(data, _LIST.num_launches)):
        if check_signals() != 0:
            drop_reference(words)
            return 0
        patch, num_patches = launch + 8 * _LAUNCH.num_words, load_word(launch, _LAUNCH.num_patches)
        copy_bytes(frame, patch + 8 * PATCH.num_words * num_patches, 8 * load_word(launch, _LAUNCH.num_frame))
        for _ in range(num_patches):
            array = load_word(patch, PATCH.array)
            if array < num_arrays:
                address = load_word(load_word(args, array) + DATA, 0)
            else:
                address = load_word(block, array - num_arrays)
            store_word(frame, load_word(patch, PATCH.place), address + load_word(patch, PATCH.offset))
            patch += 8 * PATCH.num_words
        if _is_refused(launch, frame, args, num_arrays):
            drop_reference(words)
            return 0 if error_occurred() != 0 else as_bool(0)
        launch += 8 * load_word(launch, _LAUNCH.length)
    drop_reference(words)
    return as_bool(1)


@cache
def running() -> int:
    """Return the address of `_run`; `CpuRecording` compiles it, before there is a list."""
    return compile_function("launches", _run, 4)
