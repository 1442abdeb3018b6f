"""Launches in the form for a list of launches, which compiled code does one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep.cpu.shared.context import CONTEXT_WORDS
from ep.cpu.shared.layout import layout

MAX_NUMBERS: Final = 8
"""The most sizes and other integers of a launch."""

NOTED: Final = layout("Noted", launcher=1, num_bytes=1, in_place=1, numbers=MAX_NUMBERS, frame=CONTEXT_WORDS)
"""What the check of a launch hands to its launcher; frame: the context."""

CHECKED, STRIDED, CALLED = range(3)
"""The kinds of a list's launches: of a launcher, of the map engine over arrays with strides, and calls of Python."""


class Listed(NamedTuple):
    """One launch.

    given: for CHECKED the words of NOTED before the frame, for STRIDED the addresses of state and plan, and whether a
    result has the memory of a source, for CALLED the address of a function. frame: the words that the launch gets in
    memory of its own. places: the words of the frame that are addresses of arrays.
    """

    kind: int
    given: Sequence[int]
    frame: np.ndarray[Any, Any]
    places: Sequence[int]
