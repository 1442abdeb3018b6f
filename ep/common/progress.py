"""The progress of a first run: how many of its steps are done. A step is a launch, or a node that is planned."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[int, int], object]
"""A function that is called with the number of steps that are done, and with that of all that are known so far."""


class Progress:
    """Counts the steps of one run. It may have several plans, which are not all made at its beginning."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._done, self._known = tell, 0, 0

    def expect(self, steps: int) -> None:
        """Add steps that are about to be done; below 0, remove some that another plan will do."""
        self._known += steps
        self._tell(self._done, self._known)

    def step(self) -> None:
        """Count a step that is done."""
        self._done += 1
        self._tell(self._done, self._known)
