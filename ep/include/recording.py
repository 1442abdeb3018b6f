"""Recordings of launches, which a device can repeat for other arrays in one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ep.include.arrays import Array, Arrays


class Repeat(NamedTuple):
    """The launches of a recording.

    run: has the inputs, and then the written arrays, like those of the recording. It returns whether all launches have
    been done. If it returns False, some have been, or none. It raises what a handler of a signal raises.
    written: arrays like those that it writes.
    """

    run: Callable[..., bool]
    written: Sequence[Array]


class Recording(ABC):
    """A recording of the launches that a function does with its Arrays.

    arrays: the Arrays for the function; those that `empty` returns are the written arrays. work: the Arrays for
    operators, as `scratch` returns them: what they get is memory for intermediate values.
    """

    arrays: Arrays
    work: Arrays

    @abstractmethod
    def inputs(self, arrays: Sequence[Array]) -> list[Array]:
        """Return copies of arrays, which the function gets instead of them."""

    @abstractmethod
    def writes(self, arrays: Sequence[Array]) -> list[Array]:
        """Return new arrays like the given ones, which are written, too."""

    @abstractmethod
    def repeat(self, constants: Sequence[Array], memory: Sequence[Array]) -> Repeat | None:
        """Return the launches after the function has returned; None if they are not all that it has done.

        constants: arrays that are the same at each call. memory: those of intermediate values. To find out, the
        launches are done once more, after all memory but that of inputs and constants has been overwritten.
        """
