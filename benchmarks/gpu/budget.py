"""The total time of a run, and the remaining time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

_RESERVE: Final = 10.0
"""Seconds for the report, and for work that takes longer than expected."""


class Budget:
    """The seconds of a run, which begins now. Later parts get the unused seconds of a part's share."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.total, self._clock = seconds, clock
        self._start = clock()

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return self._clock() - self._start

    def remaining(self) -> float:
        """Return the remaining seconds for work, or 0."""
        return max(0.0, self.total - min(_RESERVE, self.total / 10) - self.elapsed())

    def share(self, fraction: float) -> float:
        """Return the seconds of a part that may take this fraction of the whole."""
        return min(fraction * self.total, self.remaining())
