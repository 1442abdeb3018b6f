"""Calls of a program one after another: the first one is recorded, and the next ones repeat its launches at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ep.include.arrays import Array, Arrays
from ep.include.recording import Repeat, results_in

_RECORDINGS: Final = 2
"""The most recordings of a program with an arena. After these all calls are computed in Python."""

_MOST_REFUSED: Final = 8
"""After more refused calls, one after another, the launches are no longer repeated."""


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
        run: Any = self.repeat.run
        if not run(*[given[one] for one in self.inputs], *written):
            return None
        return results_in(written, self.results)


class Repetition:
    """The calls of one program, with its present kernels and one arena.

    The arena keeps it, so it does not keep the arena: memory is freed with the last reference to that.
    recorded: the call whose launches are repeated; None before it, and if calls are computed in Python.
    """

    def __init__(self, program: Any) -> None:
        self.body, self._program = program.body, program
        self._left = _RECORDINGS if program.is_repeatable else 0
        self._has_run, self._num_refused = False, 0
        self.recorded: Repeated | None = None

    def run(
        self, base: Arrays, given: Mapping[int, Array], arena: Any, launched: Callable[[], None] | None = None
    ) -> list[Array]:
        """Return the results, as `Program.computed` does. arena: the same at each call, prepared for the program."""
        known, found = self.recorded, None
        if known is not None:
            found = known.run(given, [base.empty(*one) for one in known.written])
            # if something is missing, or an index is wrong or negative, nothing that was written is read again
            self._num_refused = 0 if found is not None else self._num_refused + 1
            if self._num_refused > _MOST_REFUSED:
                self.recorded, self._num_refused = None, 0
        elif self._left:
            found = self._recorded(base, given, arena, launched)
        if found is None:
            found = self._program.computed(base, given, (), arena, launched)
        self._has_run = True
        return found

    def _recorded(
        self, base: Arrays, given: Mapping[int, Array], arena: Any, launched: Callable[[], None] | None
    ) -> list[Array] | None:
        """Record the launches of a call; return the results if they have been computed."""
        program, recording = self._program, base.new_recording(arena.work)
        if recording is None or not (recording.computes or self._has_run):
            return None

        def function(arrays: Arrays, work: Arrays, inputs: Sequence[Array], values: Sequence[Array]) -> Any:
            own = dict(zip(given, inputs, strict=True))
            return program.computed(arrays, own, (), ArenaPart(work, arena.begin, values), launched)

        repeat = recording.record(
            function, [*given.values()], arena.arrays, program.constants, arena.blocks, program.changing
        )
        places = _in_written(base, repeat) if repeat and repeat.run else []
        self._left = self._left - 1 if places else 0
        if repeat is None:
            return None
        if places:
            shapes = [(one.shape, one.dtype) for one in repeat.written]
            # without the arrays of this call, which would live as long
            self.recorded = Repeated(repeat._replace(written=(), results=()), [*given], shapes, places)
        if recording.computes:
            return repeat.results  # type: ignore[no-any-return]
        return self.recorded and self.recorded.run(given, [base.empty(*one) for one in self.recorded.written])


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
