"""The progress of a first run: how many of its launches are done."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[int, int], None]
"""A function that is called with the number of launches that are done, and with that of the launches planned so far."""


class Progress:
    """Counts the launches of one run. A run may have several plans, which are not all made at its beginning."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._done, self._planned = tell, 0, 0

    def plan(self, launches: int) -> None:
        """Add the launches of a plan that is about to be computed."""
        self._planned += launches
        self._tell(self._done, self._planned)

    def launched(self) -> None:
        """Count a launch."""
        self._done += 1
        self._tell(self._done, self._planned)
