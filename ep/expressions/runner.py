"""The runs of a program, by several threads at the same time: each has memory for intermediate values of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from ep.common.bounded_cache import MOST_IDLE
from ep.common.plans.stored_plan import Launches
from ep.common.progress import Progress
from ep.expressions.memory import Arena
from ep.expressions.program import Program
from ep.include.arrays import Array, Arrays

Keep: TypeAlias = Callable[[Launches], None] | None
"""A function that keeps the launches of a plan, where plans are kept."""


class Runner:
    """Runs a program.

    program: the steps. keep: is given the launches when they have been recorded; None if they are not kept, or have
    been.
    """

    def __init__(
        self,
        program: Program,
        inputs: Sequence[int],
        arenas: list[Arena] | None = None,
        note: Callable[[int, Exception], None] | None = None,
        elsewhere: Collection[int] = (),
    ) -> None:
        """program: has memory. inputs: the positions of its inputs, in the order in which `computed` gets them.

        arenas: those that no thread uses now, of programs that several threads may run at the same time. note: adds a
        note to an error of the launch that computes the value at a position. elsewhere: the inputs that are on another
        device.
        """
        self.program, self._inputs, self._note, self._elsewhere = program, inputs, note, elsewhere
        self._arenas = [] if arenas is None else arenas
        self.keep: Keep = None
        self._may_keep = False

    @property
    def holds(self) -> Mapping[Any, int]:
        """As for `BoundedCache`."""
        return self.program.holds

    def computed(self, base: Arrays, operands: Sequence[Array], progress: Progress | None = None) -> list[Array]:
        """Return all results. progress: is told about launches.

        It takes an arena, and puts it back at its end; not after an error, when it may be under way in its memory.
        """
        arenas = self._arenas
        try:
            arena = arenas.pop()
        except IndexError:
            arena = Arena(base.kept())
        repetition, found = arena.repetitions.get(self.program), None
        if repetition is not None and not base.is_captured:
            found = repetition.repeated(base, *operands)
        if found is None:
            found = self._in_arena(base, operands, arena, progress)
        keep = self.keep  # another thread may keep the plan meanwhile
        if keep is not None and self._may_keep:
            recorded = arena.repetition(self.program).recorded
            if recorded is not None:
                keep(recorded)
                self.keep = None
        self._may_keep = True
        if len(arenas) < MOST_IDLE:
            arenas.append(arena)
        return found

    def _in_arena(
        self, base: Arrays, operands: Sequence[Array], arena: Arena, progress: Progress | None
    ) -> list[Array]:
        program, pairs = self.program, zip(self._inputs, operands, strict=True)
        buffers = [one if at in self._elsewhere else base.as_buffer(one, "an input") for at, one in pairs]
        if progress is not None:
            progress.expect(program.num_launches)
        arena, lowered = Arena(base.kept()) if base.is_captured else arena, program.renewed()
        assert lowered.memory is not None
        arena.prepare(lowered.memory)
        given, launched = dict(zip(self._inputs, buffers, strict=True)), None if progress is None else progress.step
        try:
            found = arena.repetition(program).computed(base, given, lowered, arena, launched)
        except Exception as error:
            value = program.value_of(error)
            if value >= 0 and self._note is not None:
                self._note(value, error)
            raise
        return [base.delivered(one, None) for one in found]
