"""The runs of a plan: each thread has memory of its own, and the launches of one are kept for other processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ep.common.plans.stored_plan import Launches
from ep.expressions.memory import Arena, Arenas
from ep.include.arrays import Array, Arrays


class Recordable(Protocol):
    """A plan for certain sizes of inputs.

    outputs: returns those for inputs, computed in an arena. is_recorded: whether the launches in an arena are known;
    then later runs do not change them. launches: returns them; None if they are not all that the plan does.
    """

    def outputs(self, base: Arrays, given: Mapping[Any, Array], arena: Arena, *told: Any) -> Any: ...
    def is_recorded(self, arena: Arena) -> bool: ...
    def launches(self, arena: Arena) -> Launches | None: ...


class Runs:
    """The runs of a plan."""

    def __init__(
        self, plan: Recordable, arenas: Arenas, keep: Callable[[Launches], None] | None, *, at_once: bool = False
    ) -> None:
        """arenas: those of the graph. keep: keeps the launches, when they have been recorded. at_once: whether that may
        be after the first run, so that a process with one run keeps its plan, too."""
        self._plan, self._arenas, self._keep, self._may_keep = plan, arenas, keep, at_once

    def outputs(self, base: Arrays, given: Mapping[Any, Array], *told: Any) -> Any:
        """Return the outputs for inputs. told: what the plan gets besides."""
        arena = self._arenas.taken(base)
        found = self._plan.outputs(base, given, arena, *told)
        keep = self._keep  # another thread may keep the plan meanwhile
        if keep is not None and self._may_keep:
            self._keep_recorded(keep, arena)
        self._may_keep = True
        self._arenas.append(arena)
        return found

    def _keep_recorded(self, keep: Callable[[Launches], None], arena: Arena) -> None:
        if self._plan.is_recorded(arena):
            launches = self._plan.launches(arena)
            if launches is not None:
                keep(launches)
            self._keep = None
