"""The runs of a plan: each thread has memory of its own, and the launches of one are kept for other processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from ep.common.bounded_cache import MOST_IDLE
from ep.common.plans.stored_plan import Launches
from ep.expressions.memory import Arena, Arenas
from ep.expressions.program import Program
from ep.include.arrays import Array, Arrays

Keep: TypeAlias = Callable[[Launches], None] | None
"""A function that keeps the launches of a plan, where plans are kept."""


class Whole(NamedTuple):
    """The program that is all of a plan. inputs: the keys of its inputs. order: the numbers of the results that are
    outputs."""

    program: Program
    inputs: Sequence[Any]
    order: Sequence[int]


class Recordable(Protocol):
    """A plan for certain sizes of inputs.

    whole: the one program that it consists of; None if it does not. holds: as for `BoundedCache`. outputs: returns
    those for inputs, computed in an arena, unless `whole` repeats them. is_recorded: whether the launches in an arena
    are known; then later runs do not change them. launches: returns them; None if they are not all that the plan does.
    """

    @property
    def whole(self) -> Whole | None: ...
    @property
    def holds(self) -> Mapping[Any, int]: ...
    def outputs(self, base: Arrays, given: Mapping[Any, Array], arena: Arena, *told: Any) -> Sequence[Array]: ...
    def is_recorded(self, arena: Arena) -> bool: ...
    def launches(self, arena: Arena) -> Launches | None: ...


class Runs:
    """The runs of a plan."""

    def __init__(self, plan: Recordable, arenas: Arenas, keep: Keep, *, at_once: bool = False) -> None:
        """arenas: those of the graph. keep: keeps the launches, when they have been recorded. at_once: whether that may
        be after the first run, so that a process with one run keeps its plan, too."""
        self._plan, self._arenas, self._keep, self._may_keep = plan, arenas, keep, at_once
        self._whole = plan.whole

    @property
    def holds(self) -> Mapping[Any, int]:
        """As for `BoundedCache`."""
        return self._plan.holds

    def outputs(self, base: Arrays, given: Mapping[Any, Array], *told: Any) -> Sequence[Array]:
        """Return the outputs for inputs. told: what the plan gets besides."""
        arenas = self._arenas
        try:
            arena = arenas.pop()
        except IndexError:
            arena = Arena(base.kept())
        found: Sequence[Array] | None = None
        if self._whole is not None:
            program, inputs, order = self._whole
            found = program.repeated(base, map(given.__getitem__, inputs), arena)
            if found is not None:
                found = [*map(found.__getitem__, order)]
        if found is None:
            found = self._plan.outputs(base, given, arena, *told)
        keep = self._keep  # another thread may keep the plan meanwhile
        if keep is not None and self._may_keep:
            self._keep_recorded(keep, arena)
        self._may_keep = True
        if len(arenas) < MOST_IDLE:
            arenas.append(arena)
        return found

    def _keep_recorded(self, keep: Callable[[Launches], None], arena: Arena) -> None:
        if self._plan.is_recorded(arena):
            launches = self._plan.launches(arena)
            if launches is not None:
                keep(launches)
            self._keep = None
