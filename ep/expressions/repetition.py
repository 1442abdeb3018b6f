"""Calls of a program one after another: the second one is recorded, and the next ones repeat its launches at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ep.include.arrays import Array, Arrays
from ep.include.recording import Repeat, results_in

_RECORDED: Final = 1
"""The number of calls before the one that is recorded: their launches compile what they need."""

_MOST_REFUSED: Final = 8
"""After more refused calls, one after another, the next call is recorded again; after as many more, all calls are
computed in Python."""


class ArenaPart(NamedTuple):
    """What a program needs of an arena: the Arrays for its operators, the function that frees what these have got, and
    the arrays in memory. So these may be others than those of an arena."""

    work: Arrays
    begin: Callable[[], None]
    arrays: Sequence[Array]


class Repeated(NamedTuple):
    """A recorded call.

    inputs: the positions of the arrays that it reads. written: shape and dtype of the arrays that it writes. results:
    for each result, the number of its written array, and the shape that it has as a result.
    """

    repeat: Repeat
    inputs: Sequence[int]
    written: Sequence[tuple[Any, Any]]
    results: Sequence[tuple[int, tuple[int, ...]]]

    def run(self, given: Mapping[int, Array], written: Sequence[Array]) -> list[Array] | None:
        """Return the results, which are in the written arrays; None if the launches have not all been done."""
        if not self.repeat.run(*[given[one] for one in self.inputs], *written):
            return None
        return results_in(written, self.results)


class Repetition:
    """The calls of one program, with its present kernels and one arena.

    The arena keeps it, so it does not keep the arena: memory is freed with the last reference to that.
    recorded: the call whose launches are repeated; None before it, and if calls are computed in Python.
    """

    def __init__(self, program: Any) -> None:
        self.body, self._program = program.body, program
        self._before, self._again = _RECORDED, True  # the calls before the next recording, and whether one may follow
        self._num_refused = 0
        self.recorded: Repeated | None = None

    def run(self, base: Arrays, given: Mapping[int, Array], arena: Any) -> list[Array]:
        """Return the results, as `Program.computed` does. arena: the same at each call, prepared for the program."""
        known, found = self.recorded, None
        if known is not None:
            found = known.run(given, [base.empty(*one) for one in known.written])
            # if something is missing, or an index is wrong or negative, nothing that was written is read again
            self._num_refused = 0 if found is not None else self._num_refused + 1
            if self._num_refused > _MOST_REFUSED:
                self.recorded, self._num_refused = None, 0
                self._before, self._again = 0 if self._again else -1, False
        else:
            self._before -= 1
            if self._before == -1 and self._program.is_repeatable:
                found = self._recorded(base, given, arena)
        if found is not None:
            return found
        computed: list[Array] = self._program.computed(base, given, (), arena)
        return computed

    def _recorded(self, base: Arrays, given: Mapping[int, Array], arena: Any) -> list[Array] | None:
        """Record the launches of a call, and do them at once with its arrays; return the results if they are right."""
        program, recording = self._program, base.new_recording(arena.work)
        if recording is None:
            return None

        def function(arrays: Arrays, work: Arrays, inputs: Sequence[Array], values: Sequence[Array]) -> Any:
            own = dict(zip(given, inputs, strict=True))
            return program.computed(arrays, own, (), ArenaPart(work, arena.begin, values))

        repeat = recording.record(
            function, [*given.values()], arena.arrays, program.constants, arena.blocks, program.changing
        )
        places = _in_written(base, repeat) if repeat else []
        if repeat is None or not places:
            return None
        results = repeat.results if recording.computes else program.computed(base, given, (), arena)
        expected = [*map(recording.digest, results)]
        shapes = [(one.shape, one.dtype) for one in repeat.written]
        written = [*repeat.written]
        known = Repeated(repeat._replace(written=(), results=()), [*given], shapes, places)  # keeps no result alive
        del repeat, results
        for k, one in enumerate(shapes):  # an array is freed after the next one is made, which so has another address
            written[k] = base.empty(*one)
        recording.overwrite(written)
        found = known.run(given, written)
        if found is None or [*map(recording.digest, found)] != expected:
            return None
        self.recorded = known
        return found


def _in_written(base: Arrays, repeat: Repeat) -> list[tuple[int, tuple[int, ...]]]:
    """Return for each result the number of the written array that it is, or is a reshaped one of, and its shape; an
    empty list if one is anything else."""
    found, numbers = [], {id(one): k for k, one in enumerate(repeat.written)}
    for result in repeat.results:
        place = numbers.get(id(result))
        if place is None:
            place = next((k for k, one in enumerate(repeat.written) if _is_reshaped(base, result, one)), None)
        if place is None:
            return []
        found.append((place, tuple(result.shape)))
    return found


def _is_reshaped(base: Arrays, result: Array, one: Array) -> bool:
    if result.dtype != one.dtype or result.size != one.size:
        return False
    return base.is_same(result, one if result.shape == one.shape else one.reshape(result.shape))
