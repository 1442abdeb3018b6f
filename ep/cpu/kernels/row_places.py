"""The places of the values of expressions that reduce."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.stages import Stage
from ep.common.primitive.strides import contiguous_strides
from ep.cpu.engine.map.strided import strides_over
from ep.cpu.engine.reduce.stages import IN_MEMORY
from ep.cpu.lines.ahead import AHEAD_BLOCK
from ep.cpu.machine.caches import are_far
from ep.include.data_type import DataType
from ep.include.primitive.structure import ColumnOp, Structure

_LEAST_STREAMED_ROW: Final = 2048
"""The bytes of the shortest rows of which lines are written. Rows begin within lines, so two lines of each are cut."""


class Place(NamedTuple):
    """The place of a value.

    strides: over the shape of the launch, in bytes.
    array: the number of an array of the launch; IN_MEMORY if the value is in memory of the thread, where values are
        numbered by `slot`; or OF_COLUMNS for sums that begin at `offset` among all of them.
    rows, row_bytes: the number of rows of an array of which some are chosen, and the bytes from one to the next.
    """

    data_type: DataType
    strides: Dims
    array: int
    slot: int = -1
    rows: int = 0
    row_bytes: int = 0
    offset: int = 0


class Places(dict[int, Place]):
    """The places of the values of a launch in stages, as far as they are chosen.

    reduced: which values have one element per row. slots: the bytes of a row of each value in memory. also: the places
    of results that are written to memory, too, for later stages. streams: whether non-temporal stores write results.
    """

    def __init__(
        self,
        structure: Structure,
        arrays: Sequence[np.ndarray[Any, Any]],
        shape: Dims,
        reduced_shape: Dims,
        by_rows: bool,
        num_bytes: int,
    ) -> None:
        """Choose the places of sources: those of their arrays. The arguments are those of the plan.

        num_bytes: those of all arrays.
        """
        super().__init__()
        self._structure, self._arrays, self._by_rows = structure, arrays, by_rows
        self._shape, self._reduced_shape, self._length = shape, reduced_shape, shape[-1]
        self.reduced, num_results = structure.are_reduced(), len(structure.results)
        self.slots: list[int] = []
        self.also: dict[int, Place] = {}
        results = (self.of_array(value, k) for k, value in enumerate(structure.results))
        self.streams = any(map(self.is_streamed, structure.results, results)) and are_far(num_bytes)
        adds = structure.segment_sum
        for k in range(len(structure.sources)):
            if k in structure.chosen:
                array = arrays[num_results + k]
                steps = strides_over(array[0], shape)
                self[k] = Place(structure.data_type(k), steps, num_results + k, -1, array.shape[0], array.strides[0])
            elif adds is not None and k == adds.operands[1]:
                self[k] = Place(structure.data_type(k), (), num_results + k)
            else:
                self[k] = self.of_array(k, num_results + k)

    def of_array(self, value: int, array: int) -> Place:
        """Return the place of a value in an array of the launch."""
        shape = self._shape if self._by_rows else self.shape_of(self.reduced[value])
        strides = strides_over(self._arrays[array], shape)
        if self.reduced[value]:  # what is reduced may be computed from it, too: over the whole shape, it is broadcast
            strides = tuple(0 if size == 1 else step for size, step in zip(shape, strides, strict=True))
        return Place(self._structure.data_type(value), strides, array)

    def choose(self, value: int, stages: Sequence[Stage]) -> None:
        """Choose the place of a value that the first of these stages writes."""
        if value in self._structure.column_sums:
            self[value] = self.of_array(value, self._structure.results.index(value))
            return
        result = self._written_at_once(value, stages)
        if result is None:
            self[value] = self.in_memory(value)
            return
        place = self.of_array(value, result)
        # lines that non-temporal stores write are not in the caches for later stages
        again = any(value in stage.reads for stage in stages[1:])
        if again and self.streams and self.is_streamed(value, place):
            self[value] = self.in_memory(value)
            if stages[0].op is None:
                self.also[value] = place
            return
        self[value] = place

    def is_streamed(self, value: int, place: Place) -> bool:
        """Return whether non-temporal stores may write a value at a place: to long rows of a result."""
        is_long = self._length * place.data_type.itemsize >= _LEAST_STREAMED_ROW
        return self._by_rows and is_long and not self.reduced[value] and self.is_adjacent(place, False)

    def in_memory(self, value: int) -> Place:
        """Return a new place in memory for a value that one stage writes for others."""
        data_type, reduced = self._structure.data_type(value), self.reduced[value]
        self.slots.append(data_type.itemsize * (1 if reduced else self._length))
        return Place(data_type, self._adjacent(data_type, reduced), IN_MEMORY, len(self.slots) - 1)

    def as_read(self, data_type: DataType) -> Place:
        """Return the place of elements that a map computes as a reduction reads them."""
        return Place(data_type, self._adjacent(data_type, False), IN_MEMORY)

    def shape_of(self, reduced: bool) -> Dims:
        """Return the shape over which a stage goes."""
        return self._reduced_shape if reduced else self._shape

    def is_adjacent(self, place: Place, reduced: bool) -> bool:
        """Return whether the elements of a place are contiguous, or rows of one element are."""
        wanted = self._adjacent(place.data_type, reduced)
        sizes = self.shape_of(reduced)
        return all(a == b or size == 1 for a, b, size in zip(place.strides, wanted, sizes, strict=True))

    def following(self) -> list[Place]:
        """Return the places of the sources whose rows follow one another, and are prefetched."""
        unreduced = (self[k] for k in range(len(self._structure.sources)) if not self.reduced[k])
        return [place for place in unreduced if place.rows == 0 and self.is_adjacent(place, False)]

    def _adjacent(self, data_type: DataType, reduced: bool) -> Dims:
        """Return the strides of contiguous elements, or of contiguous rows of one element."""
        shape = self.shape_of(reduced)
        strides = [step * data_type.itemsize for step in contiguous_strides(shape)]
        if self._by_rows and reduced:
            strides[-1] = strides[-1] if self._length == 1 else 0
        return tuple(strides)

    def _written_at_once(self, value: int, stages: Sequence[Stage]) -> int | None:
        """Return the result that the first stage can write directly, or None: other stages may yet read its memory."""
        if value not in self._structure.results:
            return None
        result = self._structure.results.index(value)
        if stages[0].op is not None and not self.is_adjacent(self.of_array(value, result), self.reduced[value]):
            return None
        # if a stage covers the whole launch, several threads may read its input while one writes
        # the last elements of a row that is also added up along it are computed twice
        twice = stages[0].sums and not isinstance(stages[0].op, ColumnOp)
        at_once = self._by_rows and (self.reduced[value] or not twice)
        later, sources = stages[1 if at_once else 0 :], self._arrays[len(self._structure.results) :]
        read = {read for stage in later for read in stage.reads if read < len(sources)}
        return None if any(may_be_one(sources[one], self._arrays[result]) for one in read) else result


def next_rows(places: Sequence[Place], together: int, length: int, part: int, parts: int) -> list[int]:
    """Return the words by which a stage prefetches one of several parts of the next rows, for each of their places.

    together: the number of rows. length: their elements.
    """
    words = []
    for place in places:
        size = place.data_type.itemsize
        skip = together * length * size * part // parts
        words += [place.array, length * size, skip, -(-AHEAD_BLOCK * size // parts)]
    return words


def may_be_one(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Return whether arrays that Launch has checked may have the same memory: in this launch, or in one like it.

    The stride along an axis of one element may be any.
    """

    def steps(array: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
        return [(size, step) for size, step in zip(array.shape, array.strides, strict=True) if size != 1]

    return one.itemsize == other.itemsize and steps(one) == steps(other)
