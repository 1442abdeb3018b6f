"""Recordings of launches, which a device can repeat for other arrays in one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ep.include.arrays import Array, Arrays

MOST_TEMPORARY: Final = 2**20
"""The most bytes of temporary values without planned memory in repeated launches. All of them are in memory at once;
launches on more take so long that Python adds little."""

RecordedFunction = Callable[[Arrays, Sequence[Array], Sequence[Array]], list[Array]]
"""A function (arrays, inputs, values) that computes with recorded launches, and returns its results.

arrays: the Arrays for it. inputs: arrays that it reads. values: those of intermediate values.
"""


class Repeat(NamedTuple):
    """The launches of a recording.

    run: has the inputs, and then the written arrays, like those of the recording: new ones of `empty`, which become
    results as they are. It returns whether all launches have been done. If it returns False, some have been, or none.
    It raises what a handler of a signal raises. None for launches that cannot be repeated, or are not worth it.
    written: arrays like those that it writes.
    results: what the function returned.
    image: returns the launches in a form for other processes, from which `Arrays.restored` makes `run`; None if they
        have none.
    """

    run: Callable[..., bool] | None
    written: Sequence[Array]
    results: Sequence[Array]
    image: Callable[[], bytes | None] = lambda: None


def results_in(written: Sequence[Array], places: Sequence[tuple[int, tuple[int, ...]]]) -> list[Array]:
    """Return results that are written arrays. places: for each the number of its array, and the shape of the result."""
    found = [(written[number], shape) for number, shape in places]
    return [one if one.shape == shape else one.reshape(shape) for one, shape in found]


class Recording(ABC):
    """A recording of the launches of one function, which depend on nothing but shapes.

    computes: whether they are done while they are recorded, so that the results have their values. If not, all kernels
    that they need must have been compiled.
    """

    computes: bool

    @abstractmethod
    def record(
        self,
        function: RecordedFunction,
        inputs: Sequence[Array],
        values: Sequence[Array],
        constants: Sequence[Array],
        memory: Sequence[Array],
        changing: Sequence[Array] = (),
    ) -> Repeat | None:
        """Call the function with the given inputs, or arrays like them; return its launches. A recording that computes
        raises what the function raises. It may hold locks in the first call, and call it again, mostly to compile what
        the first call lacked.

        values: arrays of intermediate values, which the function gets in the same memory. memory: all that they are in.
        constants: arrays that are in the same memory at each call. changing: those among them whose elements may be
        others.

        Returns None if nothing was recorded. A recording that computes returns what the function has computed.
        """
