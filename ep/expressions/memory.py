"""One block of memory for all temporary values of a program; values that are not needed at the same time share it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, chain, zip_longest
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.common.plans.stored_plan import grown
from ep.expressions.repetition import Repetition
from ep.include.arrays import Array, Arrays
from ep.run.loop import view_of
from ep.run.steps import VALUES, Call, Step, Temporary, View, uses

_LINE: Final = 64
"""The bytes of a cache line. Each value begins with one."""
_BYTE: Final = np.dtype(np.uint8)


class Span(NamedTuple):
    """A value in memory: its number of bytes, and the first and the last step that need it."""

    num_bytes: int
    first: int
    last: int


class Memory:
    """The memory of all temporary values of a plan, in one block.

    values: the temporary values in the block, and behind them the views of these. Values that are returned have
    separate memory, and so have those of which views are returned. offsets: of each temporary value. num_bytes: the
    size of the block.
    """

    def __init__(self, steps: Sequence[Step], returned: Sequence[Any]) -> None:
        """returned: values and constants that are read after the last step."""
        found = uses(steps, returned)
        returning = [step for step in steps if isinstance(step, Call) and step.returns]
        made = {one for step in returning for one in step.results}  # functions make these
        placed = [one for one in found if isinstance(one, Temporary) and found[one][1] < len(steps)]
        placed = [one for one in placed if one not in made]
        self._spans = [Span(num_bytes_of(one), *found[one]) for one in placed]
        self.offsets, self.num_bytes = places_of(self._spans)
        values = dict.fromkeys(list[Any](placed))
        for one in found:  # each behind its source
            if isinstance(one, View) and isinstance(one.source, VALUES) and one.source in values:
                values[one] = None
        self.values: Sequence[Temporary | View] = [*values]

    @property
    def block(self) -> Temporary:
        """The block, with the bytes that `Arrays.within` needs, as a value of another plan."""
        return Temporary((self.num_bytes + _LINE,), _BYTE)

    @property
    def most_live(self) -> int:
        """The largest sum of bytes that are needed at once."""
        added = Counter[int]()
        for one in self._spans:
            added[one.first] += one.num_bytes
            added[one.last + 1] -= one.num_bytes
        return max(accumulate(added[step] for step in sorted(added)), default=0)

    def arrays(self, base: Arrays, block: Array) -> list[Array]:
        """Return the arrays of all values. block: an array like `block`."""
        made = dict[Any, Array]()
        for one, offset in zip_longest(self.values, self.offsets):
            if isinstance(one, View):
                made[one] = view_of(base, made[one.source], one)
            else:
                made[one] = base.within(block, offset, one.shape, one.dtype)
        return [*made.values()]


def num_bytes_of(value: Temporary) -> int:
    """Return the bytes of the elements of a value."""
    return math.prod(value.shape) * value.dtype.itemsize


def places_of(spans: Sequence[Span]) -> tuple[list[int], int]:
    """Return an offset for each value, so that values needed at the same time do not overlap, and the total bytes."""
    by_size = sorted(range(len(spans)), key=lambda k: (-spans[k].num_bytes, spans[k].first))
    by_time = sorted(range(len(spans)), key=lambda k: (spans[k].first, -spans[k].num_bytes))
    return min((_placed(spans, order) for order in (by_size, by_time)), key=lambda found: found[1])


def _placed(spans: Sequence[Span], order: Sequence[int]) -> tuple[list[int], int]:
    """Put each value, in an order, into the smallest gap that is large enough, else after all values needed with it."""
    offsets, end = [0] * len(spans), 0
    number = max((one.last for one in spans), default=-1) + 1
    # the places of values that each step needs, and of those that it is the first to need
    needed, begun = ([list[tuple[int, int]]() for _ in range(number)] for _ in range(2))
    for k in order:
        num_bytes, first, last = spans[k]
        size = -(-num_bytes // _LINE) * _LINE
        best, best_gap, free = -1, 0, 0
        for begin, stop in sorted(chain(needed[first], *begun[first + 1 : last + 1]), key=itemgetter(0)):
            gap = begin - free
            if gap >= size and (best < 0 or gap < best_gap):
                best, best_gap = free, gap
            free = max(free, stop)
        offsets[k] = free if best < 0 else best
        end = max(end, offsets[k] + size)
        place = offsets[k], offsets[k] + size
        begun[first].append(place)
        for places in needed[first : last + 1]:
            places.append(place)
    return offsets, end


class Arena:
    """The memory for the intermediate values of programs that run one after another.

    repetitions: those of programs. arrays: those in the memory that was prepared last.
    """

    def __init__(self, base: Arrays) -> None:
        self._base, self._memory, self._size = base, None, -1
        self._new_tables()
        self.arrays: Sequence[Array] = ()

    @property
    def blocks(self) -> list[Array]:
        """The memory of intermediate values."""
        return [] if self._memory is None else [self._memory]

    @property
    def num_bytes(self) -> int:
        """The bytes of the memory."""
        return max(self._size, 0)

    def prepare(self, memory: Memory) -> None:
        """Make the arrays of a program."""
        if memory.num_bytes > self._size:
            size = grown(self._size, memory.num_bytes)
            self._new_tables()
            self.arrays, self._memory, self._size = (), None, -1  # frees the old memory before the new one is allocated
            self._memory, self._size = self._base.empty((size + _LINE,), _BYTE), size
        self.arrays = self._known.keep(memory, lambda: memory.arrays(self._base, self._memory))

    def repetition(self, program: Any) -> Repetition:
        """Return the repetition of a program that is prepared."""
        return self.repetitions.keep(program, lambda: Repetition(program))

    def _new_tables(self) -> None:
        """Forget the programs, and with each its arrays, and its repetition."""
        self._known = BoundedCache()
        self.repetitions = BoundedCache(attrgetter("holds"))
