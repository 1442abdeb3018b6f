"""One block of memory for all intermediate values of a program; values that are not needed at the same time share
it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.expressions.repetition import Repetition
from ep.expressions.schedule import Schedule
from ep.include.arrays import Array, Arrays

_LINE: Final = 64
"""The bytes of a cache line. Each value begins with one."""
_BYTE: Final = np.dtype(np.uint8)


class Span(NamedTuple):
    """A value in memory: its number of bytes, and the first and the last step that need it."""

    num_bytes: int
    first: int
    last: int


class Memory:
    """The places of a program's intermediate values.

    values: the positions of the values in the block; results, and arrays of which results are views, have separate
    memory. offsets: the offset of each. num_bytes: the size of the block. most_live: the largest sum of bytes that are
    needed at once.
    """

    def __init__(self, schedule: Schedule) -> None:
        """Plan for a schedule."""
        self.values: list[int] = []
        spans = []
        for step, group in enumerate(schedule.groups):
            if schedule.is_view(group):
                continue
            for one in group.results:
                last = schedule.last_read.get(one, step)
                if last < len(schedule.groups):
                    node = schedule.nodes[one]
                    self.values.append(one)
                    spans.append(Span(math.prod(node.shape) * node.data_type.itemsize, step, last))
        self.offsets, self.num_bytes = places_of(spans)
        self.most_live = _most_live(spans)


def places_of(spans: Sequence[Span]) -> tuple[list[int], int]:
    """Return an offset for each value, so that values needed at the same time do not overlap, and the total bytes."""
    by_size = sorted(range(len(spans)), key=lambda k: (-spans[k].num_bytes, spans[k].first))
    by_time = sorted(range(len(spans)), key=lambda k: (spans[k].first, -spans[k].num_bytes))
    return min((_placed(spans, order) for order in (by_size, by_time)), key=lambda found: found[1])


def _placed(spans: Sequence[Span], order: Sequence[int]) -> tuple[list[int], int]:
    """Put each value, in an order, into the smallest gap that is large enough, else after all values needed with it."""
    offsets, end = [0] * len(spans), 0
    placed: list[tuple[int, int, int, int]] = []  # offset, end, and steps, in order of offsets
    for k in order:
        size = -(-spans[k].num_bytes // _LINE) * _LINE
        best, best_gap, free = -1, 0, 0
        for begin, stop, first, last in placed:
            if first > spans[k].last or last < spans[k].first:
                continue
            gap = begin - free
            if gap >= size and (best < 0 or gap < best_gap):
                best, best_gap = free, gap
            free = max(free, stop)
        offsets[k] = free if best < 0 else best
        end = max(end, offsets[k] + size)
        placed.append((offsets[k], offsets[k] + size, spans[k].first, spans[k].last))
        placed.sort()
    return offsets, end


def _most_live(spans: Sequence[Span]) -> int:
    steps = range(max((one.last for one in spans), default=-1) + 1)
    return max((sum(one.num_bytes for one in spans if one.first <= step <= one.last) for step in steps), default=0)


def new_block(base: Arrays, num_bytes: int) -> Array:
    """Return memory for values at their offsets."""
    return base.empty((num_bytes + _LINE,), _BYTE)


class Arena:
    """The memory for the intermediate values of programs that run one after another.

    repetitions: those of programs. arrays: those of the program that was prepared last. work: the Arrays for its
    operators, whose memory is valid for one step: `begin` frees all of it.
    """

    def __init__(self, base: Arrays) -> None:
        self._base, self._memory, self._size = base, None, -1
        self._new_tables()
        self.arrays: Sequence[Array] = ()
        self.work, self.begin = base.scratch()

    @property
    def blocks(self) -> list[Array]:
        """The memory of intermediate values."""
        return [] if self._memory is None else [self._memory]

    @property
    def num_bytes(self) -> int:
        """The bytes of the memory, without the memory for single steps of operators."""
        return max(self._size, 0)

    def prepare(self, memory: Memory, program: Any) -> None:
        """Make the arrays of a program."""
        if memory.num_bytes > self._size:
            self._new_tables()
            self.arrays, self._memory, self._size = (), None, -1  # frees the old memory before the new one is allocated
            self._memory, self._size = new_block(self._base, memory.num_bytes), memory.num_bytes
        found = self._known.get(program)
        if found is None:
            found = program, program.in_memory(self._base, self._memory)
            self._known.put(program, found)
        _, self.arrays = found

    def repetition(self, program: Any) -> Repetition:
        """Return the repetition of a program that is prepared."""
        return self.repetitions.keep(program, lambda: Repetition(program))

    def _new_tables(self) -> None:
        """Forget the programs, and with each its arrays, and its repetition."""
        self._known = BoundedCache(lambda found: found[0].holds)
        self.repetitions = BoundedCache(attrgetter("holds"))


class Arenas(list[Arena]):
    """The arenas that no thread uses now, of programs that several threads may run at the same time.

    A run takes one, and appends it at its end. After an error it does not: the run may be under way in its memory.
    """

    def taken(self, base: Arrays) -> Arena:
        """Return an arena for one run."""
        try:
            return self.pop()
        except IndexError:
            return Arena(base.kept())
