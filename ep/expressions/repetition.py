"""Calls of a program one after another: one is recorded, and the next ones repeat its launches at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ep.common.plans.stored_plan import Launches
from ep.include.arrays import Array, Arrays
from ep.include.recording import MOST_TEMPORARY, Repeat, results_in

_RECORDINGS: Final = 2
"""The most recordings of a program in the same memory. After these all calls are computed in Python."""

_MOST_REFUSED: Final = 8
"""After more refused calls, one after another, the launches are no longer repeated."""


class Repetition:
    """The calls of one program in the memory of one arena, or without an arena: one call at a time.

    The arena keeps it, so it does not keep the arena: memory is freed with the last reference to that.
    recorded: the launches that are repeated, which read inputs at positions; None before they are recorded, and if
    calls are computed in Python. may_repeat: whether later calls may be repeated.
    """

    def __init__(self, program: Any) -> None:
        self._program = program
        self._begin(program.renewed())

    def _begin(self, lowered: Any) -> None:
        """Begin with a plan of the program."""
        self._lowered, self._chosen = lowered, [*lowered.chosen.items()]
        self._left = _RECORDINGS if lowered.is_repeatable else 0
        self._has_run, self._num_refused = False, 0
        self.recorded: Launches | None = None
        self.may_repeat = True

    @property
    def holds(self) -> Mapping[Any, int]:
        """As for `BoundedCache`."""
        holds: Mapping[Any, int] = self._program.holds
        return holds

    def repeated(self, base: Arrays, *inputs: Array) -> list[Array] | None:
        """Return the results for inputs, which are in the order of the recorded ones, by the recorded launches.

        Returns None if none are recorded, or not all have been done: something is missing, or an index is wrong or
        negative. Then nothing that was written is read again, and `computed` has the results, or raises the error.
        """
        if self.recorded is None:
            return None
        for operator, chosen in self._chosen:
            if operator.chosen is not chosen:
                return None
        written = [*map(self._empty, self._shapes, self._dtypes)]
        if self._run(*inputs, *written):
            self._num_refused = 0
            found = written
            if self._numbers is None:
                found = results_in(written, self.recorded.results)
            elif not self._are_written:
                found = [*map(written.__getitem__, self._numbers)]
            return found if base is self._kept else [base.delivered(one, None) for one in found]
        self._num_refused += 1
        if self._num_refused > _MOST_REFUSED:
            self.recorded, self._num_refused = None, 0
        return None

    def repeated_into(self, base: Arrays, inputs: Sequence[Array], out: Sequence[Any]) -> bool:
        """Write the results for inputs to arrays by the recorded launches; return whether they have all been done.

        They are not for arrays that share memory with each other or with inputs, or are not like new ones.
        """
        if self.recorded is None or not self._takes_out or len(out) != len(self._numbers):
            return False
        for operator, chosen in self._chosen:
            if operator.chosen is not chosen:
                return False
        share = base.may_share_memory
        for k, one in enumerate(out):
            if type(one) is not self._type:
                return False
            for other in (*inputs, *out[:k]):
                if share(one, other):
                    return False
        written = [*out]
        if len(self._shapes) > len(out):
            written = [*map(self._empty, self._shapes, self._dtypes)]
        for number, one in zip(self._numbers, out, strict=True):
            written[number] = one
        done: bool = self._run(*inputs, *written)
        return done

    def computed(
        self,
        base: Arrays,
        given: Mapping[int, Array],
        lowered: Any,
        arena: Any = None,
        launched: Callable[[], None] | None = None,
    ) -> list[Array]:
        """Return the results, as `Program.computed` does. lowered: the present plan. arena: the same at each call,
        prepared for the plan."""
        if lowered is not self._lowered:
            self._begin(lowered)
        values, blocks = ((), ()) if arena is None else (arena.arrays, arena.blocks)
        found = None
        if self.recorded is None and self._left:
            found = self._in_recording(base, given, values, blocks, launched)
        if found is None:
            found = self._program.computed(base, given, (), lowered, values, launched)
        self._has_run, self.may_repeat = True, self.recorded is not None or self._left > 0
        return found

    def _in_recording(
        self,
        base: Arrays,
        given: Mapping[int, Array],
        values: Sequence[Array],
        blocks: Sequence[Array],
        launched: Callable[[], None] | None,
    ) -> list[Array] | None:
        """Record the launches of a call; return the results if they have been computed."""
        lowered = self._lowered
        has_memory = lowered.memory is not None
        if not has_memory and not self._has_run:
            return None  # it may be the only call
        recording = base.new_recording()
        # a recording that does not compute has memory of its own
        if not has_memory and (recording is None or not recording.computes or lowered.temporary_bytes > MOST_TEMPORARY):
            self._left = 0
            return None
        if recording is None or not (recording.computes or self._has_run):
            return None

        num_calls = num_told = 0

        def function(arrays: Arrays, inputs: Sequence[Array], values: Sequence[Array]) -> Any:
            nonlocal num_calls
            own, number, num_calls = dict(zip(given, inputs, strict=True)), itertools.count(), num_calls + 1

            def tell() -> None:  # once for each launch, however often the recording calls the function
                nonlocal num_told
                if next(number) == num_told and launched is not None:
                    num_told += 1
                    launched()

            # the first call, in which a recording may hold locks, compiles nothing and soon ends
            told = tell if launched is not None and num_calls > 1 else None
            return self._program.computed(arrays, own, (), lowered, values, told)

        repeat = recording.record(function, [*given.values()], values, lowered.constants, blocks, lowered.changing)
        if launched is not None and repeat is not None:
            for _ in range(num_told, lowered.num_launches):
                launched()
        if repeat is not None and repeat.run is not None:
            self._keep(base, [*given], repeat, math.inf if has_memory else MOST_TEMPORARY)
        self._left = self._left - 1 if self.recorded else 0
        if repeat is None:
            return None
        return repeat.results if recording.computes else self.repeated(base, *given.values())

    def _keep(self, base: Arrays, inputs: Sequence[int], repeat: Repeat, most: float) -> None:
        """Keep the launches for the next calls. most: the most bytes that they write beside the results."""
        places = _in_written(base, repeat)
        if not places or _num_bytes(repeat.written) - _num_bytes(repeat.results) > most:
            return
        written = [(one.shape, one.dtype) for one in repeat.written]
        self._shapes, self._dtypes = zip(*written, strict=True)
        self._run: Any = repeat.run
        self._kept = base.kept()
        self._empty = self._kept.empty
        # of the results among these, if none is one in another shape
        numbers = [number for number, shape in places if shape == written[number][0]]
        self._numbers: Any = numbers if len(numbers) == len(places) else None
        self._are_written = numbers == [*range(len(written))]
        self._takes_out = len({*numbers}) == len(places)
        self._type = type(repeat.written[0])
        self.recorded = Launches(repeat.image, inputs, written, places, self._lowered.constants)


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


def _num_bytes(arrays: Sequence[Array]) -> int:
    return sum(one.size * one.dtype.itemsize for one in arrays)


def _is_reshaped(base: Arrays, result: Array, one: Array) -> bool:
    if result.dtype != one.dtype or result.size != one.size:
        return False
    return base.is_same(result, one if result.shape == one.shape else one.reshape(result.shape))
