"""Launches in the form for a list of launches, which compiled code does one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.native.fields import address, records, word, words
from ep.common.native.record import Record
from ep.cpu.shared.context import Context

MAX_NUMBERS: Final = 8
"""The most sizes and other integers of a launch."""


class Noted(Record):
    """What the check of a launch hands to its launcher; frame: the context."""

    launcher = address()
    num_bytes = word()
    in_place = word()
    numbers = words(MAX_NUMBERS)
    frame = records(Context, 1)


class Indices(Record):
    """A check of indices: the function of Python, and what compiled code compares without it.

    count: of the indices; 0 if only Python checks them. fixed: their address, if they are in the same memory in each
    call; else 0. array, begin: the array of the call that they are in, and the first of their bytes in it. size: of the
    axis. low: the least index; those below 0 get the size added. are_words: whether they are int64, not int32. place:
    the number of the word for their address, among those of all checks of the list.
    """

    function = address()
    fixed = address()
    count = word()
    array = word()
    begin = word()
    size = word()
    low = word()
    are_words = word()
    place = word()


CHECKED, STRIDED, CALLED = range(3)
"""The kinds of a list's launches: of a launcher, of the map engine over arrays with strides, and checks of indices."""

GIVEN: Final = {CHECKED: (Noted.launcher,), STRIDED: (0, 1), CALLED: Indices.addresses}
"""For each kind, the words of `Listed.given` that are addresses."""


class Listed(NamedTuple):
    """One launch.

    given: for CHECKED the words of Noted before the frame, for STRIDED the addresses of state and plan, and whether a
    result has the memory of a source, for CALLED the words of Indices. frame: the words that the launch gets in
    memory of its own. places: the words of the frame that are addresses of arrays. addresses: these, and the others
    that are addresses.
    """

    kind: int
    given: Sequence[int]
    frame: np.ndarray[Any, Any]
    places: Sequence[int]
    addresses: Sequence[int]
