"""Calls of a program one after another: the second one is recorded, and the next ones repeat its launches at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ep.include.arrays import Array, Arrays
from ep.include.recording import Recording, Repeat

_RECORDED: Final = 1
"""The number of calls before the one that is recorded: their launches compile what they need."""

_MOST_REFUSED: Final = 8
"""After more refused calls, one after another, all calls are computed in Python."""


class _Arena(NamedTuple):
    """What a program needs of an arena, with Arrays that record."""

    work: Arrays
    begin: Any
    arrays: Sequence[Array]


class _Repeated(NamedTuple):
    """A recorded call.

    inputs: the positions of the arrays that it reads. direct: those of the results that are given arrays. empty: shape
    and dtype of the other written arrays. results: for each result, the number of its written array, and the shape that
    it has as a result.
    """

    repeat: Repeat
    inputs: Sequence[int]
    direct: Sequence[int]
    empty: Sequence[tuple[Any, Any]]
    results: Sequence[tuple[int, tuple[int, ...]]]


class Repetition:
    """The calls of one program, with its present kernels and one arena."""

    def __init__(self, program: Any, arena: Any, compute: Callable[..., list[Array]]) -> None:
        """compute: the function (base, given, direct, arena) that computes the program."""
        self.body, self._compute = program.body, compute
        self._program, self._arena = program, arena
        self._num_calls = self._num_refused = 0
        self._known: _Repeated | None = None

    def run(self, base: Arrays, given: Mapping[int, Array], direct: Mapping[int, Array]) -> list[Array]:
        """Return the results, as `Program.computed` does. The arena is prepared for the program."""
        known = self._known
        if known is not None and direct.keys() == {*known.direct}:
            written = [direct[one] for one in known.direct]
            written += [base.empty(*one) for one in known.empty]
            if known.repeat.run(*[given[one] for one in known.inputs], *written):
                self._num_refused = 0
                found = [(written[k], shape) for k, shape in known.results]
                return [one if one.shape == shape else one.reshape(shape) for one, shape in found]
            # something is missing, or an index is wrong or negative: nothing that was written is read again
            self._num_refused += 1
            if self._num_refused > _MOST_REFUSED:
                self._known = None
            return self._compute(base, given, direct, self._arena)
        self._num_calls += 1
        recording = base.new_recording(self._arena.work) if self._num_calls == 1 + _RECORDED else None
        if recording is None or not self._program.is_repeatable:
            return self._compute(base, given, direct, self._arena)
        return self._recorded(recording, given, direct) or self._compute(base, given, direct, self._arena)

    def _recorded(
        self, recording: Recording, given: Mapping[int, Array], direct: Mapping[int, Array]
    ) -> list[Array] | None:
        """Compute with recorded launches; return the results if these can be repeated."""
        inputs = dict(zip(given, recording.inputs([*given.values()]), strict=True))
        written = dict(zip(direct, recording.writes([*direct.values()]), strict=True))
        of_arena = _Arena(recording.work, self._arena.begin, self._arena.arrays)
        results = self._compute(recording.arrays, inputs, written, of_arena)
        repeat = recording.repeat(self._program.constants, self._arena.blocks)
        found = repeat and _in_written(results, repeat.written)
        if repeat is None or not found:
            return None
        for position, one in written.items():
            direct[position][...] = one
        others = repeat.written[len(direct) :]
        empty = [(one.shape, one.dtype) for one in others]
        self._known = _Repeated(repeat, [*given], [*direct], empty, found)
        places = {id(one): position for position, one in written.items()}
        return [direct[places[id(one)]] if id(one) in places else one for one in results]


def _in_written(results: Sequence[Array], written: Sequence[Array]) -> list[tuple[int, tuple[int, ...]]]:
    """Return for each result the number of the written array that it is, or is a reshaped one of, and its shape; an
    empty list if one is anything else."""
    found = []
    for result in results:
        places = [k for k, one in enumerate(written) if result is one or _is_reshaped(result, one)]
        if not places:
            return []
        found.append((places[0], tuple(result.shape)))
    return found


def _is_reshaped(result: Array, one: Array) -> bool:
    return (
        result.base is one
        and result.flags.c_contiguous
        and one.flags.c_contiguous
        and result.dtype == one.dtype
        and math.prod(result.shape) == math.prod(one.shape)
    )
