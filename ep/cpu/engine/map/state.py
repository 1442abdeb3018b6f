"""The launch state of the map engine."""

from __future__ import annotations

from typing import Final

from ep.cpu.shared.layout import ADDRESS, layout
from ep.cpu.shared.state import STATE

MAP_STATE: Final = layout(
    "MapState",
    STATE,
    row_kernel=ADDRESS,  # the kernel that the walking task calls
    streaming_kernel=ADDRESS,  # the same with non-temporal stores, for whole lines of dst; NONE or LATER
    attributes=2,  # float64 values, which the row kernel reads
)
