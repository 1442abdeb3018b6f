"""The part of the state that the map engine's launches read."""

from __future__ import annotations

from typing import Final

from ep.cpu.shared.layout import layout
from ep.cpu.shared.state import STATE

MAP_STATE: Final = layout(
    "MapState",
    STATE,
    row_kernel=1,  # what the task that walks calls
    streaming_kernel=1,  # the same with non-temporal stores, for runs of whole lines of dst; NONE or LATER
    attributes=2,  # float64 values, which the row kernel reads
)
