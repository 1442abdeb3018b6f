"""The memory of a reduction."""

from __future__ import annotations

from typing import Final

from ep.cpu.engine.layout import layout

REDUCE: Final = layout(
    "Reduce",
    src=1,
    dst=1,
    cols=1,  # elements of a row
    partials=1,  # the address of the values of a row's segments; 0 where a range of rows is reduced
    row=1,  # whose segments these are
)
"""The context of the task that reduces."""

REDUCE_WORDS: Final[int] = REDUCE.num_words

BLOCK: Final = 4096
"""Elements that are combined by lanes."""
MAX_SEGMENTS: Final = 256
"""Parts that a row is cut into, of whole blocks: threads share those of a long row."""


def segment_length(cols: int) -> int:
    """The elements of a segment of a row of `cols` elements. Compiled code calls this, too."""
    blocks = (cols + BLOCK - 1) // BLOCK
    return (blocks + MAX_SEGMENTS - 1) // MAX_SEGMENTS * BLOCK
