"""The words that a compiled check hands to the code that does the work."""

from __future__ import annotations

from typing import Final

from ep.cpu.shared.layout import layout

MAX_SOURCES: Final = 16
SOURCE_WORDS: Final = 3

CONTEXT: Final = layout(
    "Context",
    dst=1,  # its address; first, since what writes with non-temporal stores replaces it
    state=1,
    plan=1,  # or what else follows from the sizes of the launch; 0 where there is none
    streaming=1,  # the task with non-temporal stores without tiles: NONE, LATER, ITSELF, or the address of the task
    dst_count=1,
    dst_size=1,  # bytes of an element
    num_sources=1,
    sources=SOURCE_WORDS * MAX_SOURCES,  # address, count and bytes of an element of every operand but the first written
)
"""The context of a launch: tasks get it, or a copy, by its address."""

CONTEXT_WORDS: Final[int] = CONTEXT.num_words

NONE: Final = 0
"""The bound of launches that never use non-temporal stores: those without tiles."""
LATER: Final = 1
"""Something does that has not been compiled yet."""
ITSELF: Final = 2
"""The task does: where the context that it gets says so, too."""
