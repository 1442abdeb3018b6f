"""PlaneWindows: the windows of planes, by their sizes and distances."""

from __future__ import annotations

import math
from typing import NamedTuple


class PlaneWindows(NamedTuple):
    """The windows of planes, along one to three axes of each.

    planes: their number. sizes: of a plane's axes. counts: windows along each axis. kernel: places of a window.
    strides: elements from a window to the next. before: places of the first window before the first element of an
    axis. dilations: elements from place to place. Places outside of a plane have no elements.
    """

    planes: int
    sizes: tuple[int, ...]
    counts: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    before: tuple[int, ...]
    dilations: tuple[int, ...]

    def num_elements(self) -> tuple[int, int]:
        """Return the number of elements of all planes, and that of windows."""
        return self.planes * math.prod(self.sizes), self.planes * math.prod(self.counts)
