"""The launch state of Gather."""

from __future__ import annotations

from typing import Final

from ep.cpu.engine.move.size_class import ANY_SIZE
from ep.cpu.shared.layout import addresses, layout
from ep.cpu.shared.state import STATE

GATHER_STATE: Final = layout(
    "GatherState",
    STATE,
    unsigned=1,  # whether the type of the indices is unsigned
    movers=addresses(ANY_SIZE + 1),  # the addresses of the movers, by class; 0 if not compiled yet
)
