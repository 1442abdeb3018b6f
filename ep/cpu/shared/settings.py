"""The settings of a device's launches: the number of threads, and the sizes from which non-temporal stores are used."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ep.common.environment import MAX_THREADS
from ep.cpu.machine.calibration import Calibration, everywhere, least_size
from ep.cpu.shared.state import LaunchSettings
from ep.include.errors import ArgumentValueError


class Settings:
    """The `LaunchSettings`, which compiled entries read at every launch, and the methods that set them."""

    def __init__(self, num_threads: int) -> None:
        """Create the settings; num_threads: as for `SetNumThreads`."""
        self._settings = np.zeros(LaunchSettings.num_words, np.int64)
        self.settings_address: int = self._settings.ctypes.data
        self._calibrations: dict[int, Calibration] = {}
        self._forced: Calibration | None = None
        self._stream = 0
        self._start_threads: Callable[[int], None] | None = None
        self.SetNumThreads(num_threads)

    def SetNumThreads(self, num_threads: int) -> None:
        """Make launches from now on use at most `num_threads` threads, including the launching one."""
        number = operator.index(num_threads)
        if not 1 <= number <= MAX_THREADS:
            raise ArgumentValueError("num_threads", f"is {number}; it must be from 1 to {MAX_THREADS}")
        if self._start_threads is not None:
            self._start_threads(number)
        self._settings[LaunchSettings.num_threads] = number
        self._settle()

    def GetNumThreads(self) -> int:
        """Return the most threads that a launch uses."""
        return int(self._settings[LaunchSettings.num_threads])

    def set_pool(self, address: int, start_threads: Callable[[int], None]) -> None:
        """Make launches share their work in the pool at `address`.

        `start_threads(n)` starts threads until there are n.
        """
        self._settings[LaunchSettings.pool] = address
        self._start_threads = start_threads
        start_threads(self.GetNumThreads())  # last, so that threads for a number set meanwhile are started too

    def calibration(self) -> Calibration | None:
        """Return the calibration for the number of threads, or None if no launch has made it yet."""
        return self._forced or self._calibrations.get(self.GetNumThreads())

    def set_calibration(self, calibration: Calibration, num_threads: int) -> None:
        """Make launches on `num_threads` threads use non-temporal stores as `calibration` says."""
        self._calibrations[num_threads] = calibration
        self._settle()

    def force_calibration(self, calibration: Calibration | None) -> None:
        """Make all launches use non-temporal stores as `calibration` says, until this is called with None."""
        self._forced = calibration
        self._settle()

    def set_stream(self, address: int) -> None:
        """Make launches with non-temporal stores use the streaming task at `address`."""
        self._stream = address
        self._settle()

    @property
    def streams(self) -> bool:
        """Whether launches have a task with non-temporal stores, and a calibration that says when they use it."""
        return bool(self._settings[LaunchSettings.stream])

    def _settle(self) -> None:
        """Write the calibration to the settings.

        Without a calibration, a launch that is large enough finds no task, and requests a calibration.
        """
        found = self.calibration()
        lines, tiles, ahead = found or everywhere(least_size(self.GetNumThreads()))
        self._settings[LaunchSettings.lines_from : LaunchSettings.lines_from + len(lines)] = lines
        self._settings[LaunchSettings.tiles_from : LaunchSettings.tiles_from + len(tiles)] = tiles
        self._settings[LaunchSettings.ahead] = ahead
        self._settings[LaunchSettings.stream] = 0 if found is None else self._stream

    def settings(self) -> np.ndarray[Any, Any]:
        """Return a copy of the settings."""
        return self._settings.copy()
