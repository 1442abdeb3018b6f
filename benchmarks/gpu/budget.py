"""The total time of a run, and the remaining time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

_RESERVE: Final = 10.0
"""Seconds for the report, and for work that takes longer than expected."""


class Budget:
    """Seconds from now on. What a part leaves of its share falls to the parts after it."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.total, self._clock = seconds, clock
        self._start = clock()

    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    def remaining(self) -> float:
        """The remaining seconds for work, or 0."""
        return max(0.0, self.total - min(_RESERVE, self.total / 10) - self.elapsed())

    def share(self, fraction: float) -> float:
        """Seconds for a part that may take this fraction of the whole."""
        return min(fraction * self.total, self.remaining())
