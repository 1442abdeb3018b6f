"""The launch state of Gather."""

from __future__ import annotations

from ep.common.native.fields import addresses, word
from ep.cpu.engine.move.size_class import ANY_SIZE
from ep.cpu.shared.state import State


class GatherState(State):
    unsigned = word()  # whether the type of the indices is unsigned
    movers = addresses(ANY_SIZE + 1)  # the addresses of the movers, by class; 0 if not compiled yet
