"""Recordings of launches, which a device can repeat for other arrays in one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ep.include.arrays import Array, Arrays

Recorded = Callable[[Arrays, Arrays, Sequence[Array], Sequence[Array]], list[Array]]
"""A function (arrays, work, inputs, values) that computes with recorded launches, and returns its results.

arrays: the Arrays for it. work: the Arrays for operators, as `scratch` returns them: what they get is memory for
intermediate values. inputs: arrays that it reads. values: those of intermediate values.
"""

POISON: Final = 0xA5
"""The byte that `Recording.overwrite` writes everywhere."""


class Repeat(NamedTuple):
    """The launches of a recording.

    run: has the inputs, and then the written arrays, like those of the recording. It returns whether all launches have
    been done. If it returns False, some have been, or none. It raises what a handler of a signal raises.
    written: arrays like those that it writes.
    results: what the function returned.
    image: returns the launches in a form for other processes, from which `Arrays.restored` makes `run`; None if they
        have none.
    """

    run: Callable[..., bool]
    written: Sequence[Array]
    results: Sequence[Array]
    image: Callable[[], bytes | None] = lambda: None


def results_in(written: Sequence[Array], places: Sequence[tuple[int, tuple[int, ...]]]) -> list[Array]:
    """Return results that are written arrays. places: for each the number of its array, and the shape of the result."""
    found = [(written[number], shape) for number, shape in places]
    return [one if one.shape == shape else one.reshape(shape) for one, shape in found]


class Recording(ABC):
    """A recording of the launches of one function.

    computes: whether they are done while they are recorded, so that the results have their values.
    """

    computes: bool

    @abstractmethod
    def record(
        self,
        function: Recorded,
        inputs: Sequence[Array],
        values: Sequence[Array],
        constants: Sequence[Array],
        memory: Sequence[Array],
        changing: Sequence[Array] = (),
    ) -> Repeat | None:
        """Call the function with the given inputs, or arrays like them; return its launches.

        values: arrays of intermediate values, which the function gets in the same memory. memory: all that they are in.
        constants: arrays that are in the same memory at each call. changing: those among them whose elements may be
        others.

        Returns None for launches that cannot be repeated, or are not worth it.
        """

    @abstractmethod
    def overwrite(self, arrays: Sequence[Array]) -> None:
        """Overwrite arrays, and all memory of intermediate values.

        So launches that are not all that the function does give other results afterwards.
        """

    @abstractmethod
    def digest(self, array: Array) -> str:
        """Return a digest of the elements of an array."""
