"""The launch state of the map engine."""

from __future__ import annotations

from ep.common.native.fields import address, reals
from ep.cpu.shared.state import State


class MapState(State):
    """The state of a primitive of the map engine."""

    row_kernel = address()  # the kernel that the walking task calls
    streaming_kernel = address()  # the same with non-temporal stores, for whole lines of dst; NONE or LATER
    attributes = reals(2)  # float64 values, which the row kernel reads
