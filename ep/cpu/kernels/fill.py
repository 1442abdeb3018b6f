"""The row kernels that repeat one element, by its size."""

from __future__ import annotations

from functools import cache

from ep.cpu.compile.compiler import compile_task
from ep.cpu.lines.inline_copy import row_filler
from ep.cpu.lines.streaming import line_filler
from ep.cpu.shared.context import Context


@cache
def fill_kernel(size: int, streaming: bool = False) -> int:
    """Return the address of the task (context, begin, end) that writes the element of `size` bytes at the first source.

    streaming: use non-temporal stores; the task is then called on whole cache lines of dst only.
    """
    write = line_filler(size) if streaming else row_filler(size)

    def fill(context: Context, begin: int, end: int) -> None:
        dst, src = context.dst, context.sources[0].data
        write(dst + begin * size, (end - begin) * size, src)

    return compile_task(f"fill.{size}" + ".lines" * streaming, fill)
