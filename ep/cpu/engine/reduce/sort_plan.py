"""The records of ArgSort: the plan of a launch, which follows from its sizes, and the launch state."""

from __future__ import annotations

from typing import Final

from ep.common.native.fields import address, word
from ep.common.native.record import Record
from ep.common.primitive.signature import Signature
from ep.common.primitive.sort_keys import KeyWords, SortSizes
from ep.cpu.engine.loop_nest import LoopNest, adjacent
from ep.cpu.shared.state import State


class SortLoops(Record):
    """The plan of a launch of ArgSort, which a `SortPlan` writes."""

    turn = word()  # what makes keys of bits: see `KeyWords`
    infinity = word()
    nan = word()
    outer = word()
    size = word()
    inner = word()
    num_places = word()
    columns = word()  # that are searched together, for one place
    blocks = word()  # of columns
    part = word()  # elements of a part of a line
    parts = word()
    kept = word()  # the most places that are sorted at a time; 0 for insertion


_ALL: Final = adjacent(SortLoops, *SortLoops.field_names)


class SortState(State):
    """The launch state of ArgSort."""

    find = address()  # the task that finds one place in each line; 0 until a plan needs it
    sort = address()  # the same for several places


COLUMNS: Final = 512
"""The most columns that are searched together."""

INSERTED: Final = 128
"""The most places that are found by insertion."""

_ENOUGH: Final = 16  # lines that are worth no parts: each thread has some
_MOST_PARTS: Final = 64
_LEAST_PART: Final = 2**15  # elements
_FEW: Final = 64  # elements that are all inserted


class SortPlan(LoopNest):
    """The plan for sizes > 0."""

    def __init__(self, signature: Signature, words: KeyWords, sizes: SortSizes) -> None:
        super().__init__(SortLoops, signature)
        outer, size, inner, num_places = sizes
        self.finds_one = num_places == 1
        columns = min(inner, COLUMNS) if self.finds_one else 1
        blocks = -(-inner // columns)
        parts, units = 1, outer * blocks
        if self.finds_one and units < _ENOUGH:
            parts = max(min(_MOST_PARTS // units, size * columns // _LEAST_PART), 1)
        part = -(-size // parts)
        kept = 2 * num_places if 4 * num_places < size else size
        if size <= _FEW or (num_places <= INSERTED and kept < size):
            kept = 0
        self.set_words(_ALL, (*words, *sizes, columns, blocks, part, -(-size // part), kept))
        self.set_checks(sizes, in_place=False)
