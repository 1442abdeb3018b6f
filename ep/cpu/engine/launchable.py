"""The slots of a primitive that compiled code reads: three, at places that `object_layout` has checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, Self, TypeVar

import numpy as np

from ep.common import bounded_cache
from ep.cpu.shared.object_layout import FIRST_SLOT, SECOND_SLOT, THIRD_SLOT
from ep.cpu.shared.state import STATE, LaunchState

KEPT, RECENT, WORDS = FIRST_SLOT, SECOND_SLOT, THIRD_SLOT

NUM_RECENT: Final = 4
"""The number of latest combinations of dims, data types and numbers that are found without hashing."""

F = TypeVar("F", bound=Callable[..., Any])


class Forward:
    """A Launch: as it is written in Python, and what its calls go to."""

    def __init__(self, written: Callable[..., Any]) -> None:
        self.written = self.to = written


def launched(written: F) -> F:
    """Mark a Launch for compiled code to take its place, as soon as there is any.

    The function does launches that compiled code does not: with keywords, and where something is not as expected. Its
    arguments are found in the signature by their names (`engine/form.py`).
    """
    forward = Forward(written)

    @wraps(written)
    def launch(self: Launchable, /, *args: Any, **kwargs: Any) -> Any:  # for those who took the method before
        if self._words is _UNMADE.words:
            _refuse(self)
        return forward.to(self, *args, **kwargs)

    launch.forward = forward  # type: ignore[attr-defined]
    return launch  # type: ignore[return-value]


class Launchable:
    """An object that compiled methods are called on.

    _kept: finds one of the tuples below by the part that Launch is given; empty again when it is full.
    _recent: tuples that compiled code compares with what Launch is given: the dims, data types and numbers of a launch
        in the order of Launch, the words of the plan (None if there is none), what keeps these, and the arrays that
        stand for the numbers. Python only ever replaces all of it; compiled code holds what it has found, puts that
        first, and something that it has found in `_kept` in the place of another.
    _words: the launch state, which is never replaced.
    """

    __slots__ = ("_kept", "_recent", "_words")  # in the order of their names: that is the order in memory
    _kept: dict[tuple[Any, ...], tuple[Any, ...]]
    _recent: tuple[tuple[Any, ...], ...]
    _words: np.ndarray[Any, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        made._forget()
        made._words = _UNMADE.words
        return made

    def _enter(self, plan: Any, *args: Any) -> bool:
        """Return whether a launch was refused; then nothing has been written. So all are until there is compiled code.

        plan: its words, and args the operands; or None, and args the sizes and others of the signature, and operands.
        """
        return True

    def _remember(self, given: tuple[Any, ...], plan: Any = None, arrays: tuple[Any, ...] = ()) -> None:
        """Let compiled code find a plan, and arrays for numbers, by what Launch was given: in the order of Launch.

        given: numbers, and dims that `are_of_ints`, known again by what they hold; the type ndarray for any array of
            an operand that might be a number, and is none; and all else, known again by what object it is.
        arrays: for each operand that may be a number, in the order of Launch; None if it was given as an array.
        """
        words = None if plan is None else plan.words
        found = (*given, words, plan, *arrays)
        self._recent = (found, *self._recent[: NUM_RECENT - 1])
        if plan is not None:
            try:
                if len(self._kept) >= bounded_cache.KEPT:
                    self._kept.clear()
                self._kept[given] = found
            except TypeError:  # a number that has no hash
                return

    def _forget(self) -> None:
        """Forget what was remembered."""
        self._kept, self._recent = {}, ()


def are_of_ints(dims: tuple[Any, ...]) -> bool:
    """Whether each of some dims, strides or positions is None, or an integer of the very type int or a tuple of them.

    What else is equal to such dims finds the same plan, and has to be refused or converted.
    """
    for each in dims:
        if each is not None and type(each) is not int:
            if not isinstance(each, tuple):
                return False
            for number in each:
                if type(number) is not int:
                    return False
    return True


_UNMADE: Final = LaunchState(STATE, ())
"""The state of an object whose `__init__` has not been called; there is no form."""


def _refuse(made: Launchable, *args: Any, **kwargs: Any) -> None:
    raise TypeError(f"{type(made).__qualname__}.__init__ has not been called")


_UNMADE.set(written=id(_refuse))
