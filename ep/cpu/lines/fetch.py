"""The prefetch: of every cache line that a range of bytes touches, from its first to its last byte.

Rows that do not begin with a line, as NumPy's do not, touch one line more than their bytes fill.
"""

from __future__ import annotations

import functools
from typing import Any

from ep.common.native.emitted import emitted
from ep.cpu.compile.jit import jit
from ep.cpu.compile.vectors import BYTE, L1_CACHE, L2_CACHE, WORD, counted_at_head, least, pointer_to, prefetch_line
from ep.cpu.lines.sizes import LINE


def fetch(builder: Any, begin: Any, size: Any, cache: int, most: int | None = None) -> None:
    """Prefetch the lines of `size` bytes from `begin` on into a cache level, and the levels behind it.

    begin: a word or a pointer; the bytes need not be readable. size: a word, for nothing if it is not positive.
    most: if given, size is from 1 to `most`, and there is no loop.

    How many lines are asked for depends on the size alone: a count that depended on the address would be a branch that
    processors cannot predict. So a line may be asked for twice.
    """
    last = builder.sub(size, WORD(1))
    if most is not None:
        for skip in range(0, most - 1, LINE):
            _line_at(builder, begin, least(builder, WORD(skip), last) if skip else WORD(0), cache)
        _line_at(builder, begin, last, cache)
        return

    with builder.if_then(builder.icmp_signed(">", size, WORD(0))):
        counted_at_head(builder, WORD(0), last, LINE, [], lambda skip, _: _line_at(builder, begin, skip, cache))
        _line_at(builder, begin, last, cache)


def fetch_constant(builder: Any, begin: Any, size: int, cache: int) -> None:
    """Prefetch the lines of `size` bytes, a number that is known when the code is written."""
    fetch(builder, begin, WORD(size), cache, size)


@functools.cache
def constant_fetch(size: int, cache: int) -> Any:
    """Return compiled code's function (begin) that prefetches the lines of `size` bytes into a cache level."""

    @emitted()
    def fetch_lines(builder: Any, begin: Any) -> None:
        fetch_constant(builder, begin, size, cache)

    return fetch_lines


@functools.cache
def bounded_fetch(most: int, cache: int) -> Any:
    """Return compiled code's function (begin, size) that prefetches the lines of 1 to `most` bytes, without a loop."""

    @emitted()
    def fetch_lines(builder: Any, begin: Any, size: Any) -> None:
        fetch(builder, begin, size, cache, most)

    return fetch_lines


def fetch_part(builder: Any, begin: Any, size: int, cache: int) -> None:
    """Prefetch the lines of `size` bytes of a run of which the next part, or `fetch_last`, follows.

    The line that they share is left to it, so a part takes one request less.
    """
    for skip in range(0, size, LINE):
        _line_at(builder, begin, WORD(skip), cache)


def fetch_last(builder: Any, end: Any, cache: int) -> None:
    """Prefetch the line of the last byte before address `end`."""
    _line_at(builder, end, WORD(-1), cache)


def _line_at(builder: Any, begin: Any, skip: Any, cache: int) -> None:
    prefetch_line(builder, pointer_to(builder, begin, BYTE, skip), cache)


@emitted()
def fetch_first(builder: Any, begin: Any, size: Any) -> None:
    """Prefetch the lines of `size` bytes from address `begin` on into L1."""
    fetch(builder, begin, size, L1_CACHE)


@emitted()
def fetch_second(builder: Any, begin: Any, size: Any) -> None:
    """Prefetch the lines of `size` bytes from address `begin` on into L2."""
    fetch(builder, begin, size, L2_CACHE)


@emitted()
def line_into_second(builder: Any, address: Any) -> None:
    """Prefetch the line of an address into L2."""
    prefetch_line(builder, address, L2_CACHE)


@jit
def part_into_second(begin: int, size: int) -> None:
    """Prefetch a part of a run into L2, as `fetch_part` does; `line_into_second` the run's last byte, too."""
    for skip in range(0, size, LINE):  # LLVM writes several requests in a turn
        line_into_second(begin + skip)
