"""The row kernels that write one element again and again, by its size."""

from __future__ import annotations

from functools import cache

from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.memory import load_word
from ep.cpu.engine.context import CONTEXT
from ep.cpu.engine.move.byte_rows import row_filler


@cache
def fill_kernel(size: int) -> int:
    """The address of the task (context, begin, end) that writes the element of `size` bytes at the first source."""
    fill_row = row_filler(size)

    def fill(context, begin, end):
        fill_row(
            load_word(context, CONTEXT.dst) + begin * size, (end - begin) * size, load_word(context, CONTEXT.sources)
        )

    return compile_task(f"fill.{size}", fill)
