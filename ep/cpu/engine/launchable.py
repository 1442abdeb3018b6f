"""The three slots of a primitive that compiled code reads, at offsets that `object_layout` has checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, Self, TypeVar

import numpy as np

from ep.common import bounded_cache
from ep.common.native.fields import pointer, word
from ep.common.native.objects import ArrayObject, Object, TupleObject
from ep.cpu.shared.state import LaunchState, State


class LaunchableObject(Object):
    """A primitive, as compiled code reads it."""

    kept = word()
    recent = pointer(TupleObject)
    words = pointer(ArrayObject)


NUM_RECENT: Final = 4
"""The number of most recent combinations of dims, data types and numbers, which are found without hashing."""

F = TypeVar("F", bound=Callable[..., Any])


class Forward:
    """A Launch: the function written in Python, and the function that its calls go to."""

    def __init__(self, written: Callable[..., Any]) -> None:
        self.written = self.to = written


def launched(written: F) -> F:
    """Return a Launch that compiled code replaces, as soon as there is any.

    The Python function runs the launches in which compiled code finds something unexpected. Its arguments are found in
    the signature by their names (`engine/form.py`).
    """
    forward = Forward(written)

    @wraps(written)
    def launch(self: Launchable, /, *args: Any, **kwargs: Any) -> Any:  # for callers that got the method earlier
        if self._words is _UNMADE.words:
            _refuse(self)
        if forward.to is written:
            self._before_launch(args[0] if args else kwargs.get("stream"))
        return forward.to(self, *args, **kwargs)

    launch.forward = forward  # type: ignore[attr-defined]
    return launch  # type: ignore[return-value]


class Launchable:
    """An object with compiled methods.

    _kept: maps the arguments of Launch to one of the tuples below; it is emptied when it is full.
    _recent: tuples that compiled code compares with the arguments of Launch. Each holds the dims, data types and
        numbers of a launch in the order of Launch, the words of the plan (None if there is none), the object that keeps
        these alive, and the arrays that replace the numbers. Python never changes `_recent` in place, but replaces it
        as a whole. Compiled code holds a reference to the tuple it has found and moves it to the front; a tuple found
        in `_kept` replaces another one.
    _words: the launch state, which is never replaced.
    """

    __slots__ = ("_kept", "_recent", "_words")  # sorted by name, which is the order in memory
    _kept: dict[tuple[Any, ...], tuple[Any, ...]]
    _recent: tuple[tuple[Any, ...], ...]
    _words: np.ndarray[Any, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        made._forget()
        made._words = _UNMADE.words
        return made

    def _before_launch(self, stream: Any) -> None:
        """Let compiled code replace Launch, if this launch of the function in Python is to be the last one."""

    def _enter(self, plan: Any, *args: Any) -> bool:
        """Return whether a launch was refused; then nothing has been written. Without compiled code, all are refused.

        A launch that lacks memory raises MemoryError, and may have written a part of its result: it is not repeated,
        since a result that is read, too, would be changed twice.

        plan: its words, with args the operands; or None, with args the sizes and other integers of the signature, then
            the operands.
        """
        return True

    def _note(self, words: np.ndarray[Any, Any], plan: Any, *args: Any) -> bool:
        """Write what the launch of `_enter` hands to its launcher, to a `Noted`. Return whether it is refused.

        words: for the result. plan, args: as for `_enter`.
        """
        return True

    def _remember(self, given: tuple[Any, ...], plan: Any = None, arrays: tuple[Any, ...] = ()) -> None:
        """Remember a plan, and arrays for numbers, by the arguments of Launch, for compiled code to find.

        given: the arguments in the order of Launch. Numbers, and dims that `are_of_ints`, are compared by value; for an
            operand that may be a number, the type ndarray represents any array; all others are compared by identity.
        arrays: one for each operand that may be a number, in the order of Launch; None if it was given as an array.
        """
        words = None if plan is None else plan.words
        found = (*given, words, plan, *arrays)
        self._recent = (found, *self._recent[: NUM_RECENT - 1])
        if plan is not None:
            try:
                if len(self._kept) >= bounded_cache.KEPT:
                    self._kept.clear()
                self._kept[given] = found
            except TypeError:  # an unhashable number
                return

    def _forget(self) -> None:
        """Forget all remembered launches."""
        self._kept, self._recent = {}, ()


def are_of_ints(dims: tuple[Any, ...]) -> bool:
    """Return whether each dim, stride or position is None, an object of exactly type int, or a tuple of such ints.

    Other objects may be equal to such dims and so find the same plan, but must be refused or converted.
    """
    for each in dims:
        if each is not None and type(each) is not int:
            if not isinstance(each, tuple):
                return False
            for number in each:
                if type(number) is not int:
                    return False
    return True


_UNMADE: Final = LaunchState(State, ())
"""The state of an object whose `__init__` has not been called; it has no form."""


def _refuse(made: Launchable, *args: Any, **kwargs: Any) -> None:
    raise TypeError(f"{type(made).__qualname__}.__init__ has not been called")


_UNMADE.set(written=id(_refuse))
