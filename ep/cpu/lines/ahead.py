"""What a task does if data comes from memory: it prefetches what is read next, and writes whole cache lines.

A core fetches ahead of a loop only for some lines. So memory waits while rows that the caches hold are read again, and
during long computations. Prefetches between the parts of such loops keep it busy.
"""

from __future__ import annotations

from typing import Final

from ep.common.native.words import load_word, store_word
from ep.cpu.compile.jit import jit
from ep.cpu.lines.inline_copy import prefetch
from ep.cpu.lines.sizes import LINE
from ep.cpu.shared.context import CONTEXT
from ep.cpu.shared.layout import layout

AHEAD_BLOCK: Final = 256
"""Elements of a part of a loop."""
_SHIFT: Final = AHEAD_BLOCK.bit_length() - 1
_MOST: Final = 8  # streams of a core's own prefetchers are not many more

AHEAD: Final = layout(
    "Ahead",
    CONTEXT,
    in_lines=1,  # whether the task writes whole lines of its results with non-temporal stores
    num_ahead=1,
    ahead=2 * _MOST,  # an address, and the bytes for `AHEAD_BLOCK` elements; element 0 of the task is at the address
)
"""The context of such a task."""


@jit
def add_ahead(context, address, size):
    """Make a task prefetch `size` bytes for `AHEAD_BLOCK` elements, from `address` on for its element 0."""
    number = load_word(context, AHEAD.num_ahead)
    if number < _MOST:
        store_word(context, AHEAD.ahead + 2 * number, address)
        store_word(context, AHEAD.ahead + 2 * number + 1, size)
        store_word(context, AHEAD.num_ahead, number + 1)


@jit
def offset_ahead(element, size):
    """Return the offset, for an element, of what is prefetched by `size` bytes for `AHEAD_BLOCK` elements."""
    return element * size >> _SHIFT


@jit
def fetch_ahead(context, begin, end):
    """Prefetch the lines for elements [begin, end) of a task."""
    for number in range(load_word(context, AHEAD.num_ahead)):
        address = load_word(context, AHEAD.ahead + 2 * number)
        size = load_word(context, AHEAD.ahead + 2 * number + 1)
        for offset in range(offset_ahead(begin, size) & -LINE, offset_ahead(end, size) & -LINE, LINE):
            prefetch(address + offset)
