"""What a task does if data comes from memory: it prefetches what is read next, and writes whole cache lines.

A core fetches ahead of a loop only for some lines. So memory waits while rows that the caches hold are read again, and
during long computations. Prefetches between the parts of such loops keep it busy.
"""

from __future__ import annotations

from typing import Any, Final

from ep.common.native.emitted import emitted
from ep.common.native.fields import address, records, word
from ep.common.native.record import Record
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import L1_CACHE, WORD, counted_at_head, load
from ep.cpu.lines.fetch import fetch
from ep.cpu.shared.context import Context

AHEAD_BLOCK: Final = 256
"""Elements of a part of a loop."""
_SHIFT: Final = AHEAD_BLOCK.bit_length() - 1
_MOST: Final = 8  # streams of a core's own prefetchers are not many more


class Ahead(Record):
    """What a task prefetches. size: bytes for `AHEAD_BLOCK` elements; element 0 of the task is at the address."""

    address = address()
    size = word()


class AheadContext(Context):
    """The context of such a task, which a launcher of rows writes, or a task of stages: with `add_ahead`."""

    in_lines = word()  # whether the task writes whole lines of its results with non-temporal stores
    num_ahead = word()
    ahead = records(Ahead, _MOST)


@jit
def add_ahead(context: AheadContext, address: int, size: int) -> None:
    """Make a task prefetch `size` bytes for `AHEAD_BLOCK` elements, from `address` on for its element 0."""
    number = context.num_ahead
    if number < _MOST:
        ahead = context.ahead[number]
        ahead.address = address
        ahead.size = size
        context.num_ahead = number + 1


@jit
def offset_ahead(element: int, size: int) -> int:
    """Return the offset, for an element, of what is prefetched by `size` bytes for `AHEAD_BLOCK` elements."""
    return element * size >> _SHIFT


@emitted()
def fetch_ahead(builder: Any, context: Any, begin: Any, end: Any) -> None:
    """Prefetch the lines for elements [begin, end) of a task."""

    def fetch_one(number: Any, _: Any) -> None:
        place = builder.add(builder.mul(number, WORD(2)), WORD(AheadContext.ahead))
        address, size = (load(builder, context, WORD, builder.add(place, WORD(skip))) for skip in (0, 1))
        first, last = (builder.ashr(builder.mul(element, size), WORD(_SHIFT)) for element in (begin, end))
        fetch(builder, builder.add(address, first), builder.sub(last, first), L1_CACHE)

    counted_at_head(builder, WORD(0), load(builder, context, WORD, WORD(AheadContext.num_ahead)), 1, [], fetch_one)
