"""Expressions that reduce: the tasks of their stages, and the places that these read and write."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import Any, Final

import numpy as np

from ep.common.native.record import Words, addresses_in
from ep.common.primitive import signatures
from ep.common.primitive.broadcast import Dims, simplify_walk
from ep.common.primitive.reduce_shape import Axis, ReduceShape
from ep.common.primitive.segment_sizes import SegmentSizes
from ep.common.primitive.stages import Stage, identity_of, stages_of, stored_in_full
from ep.cpu.compile.target import has_avx512
from ep.cpu.compile.vectors import PIECE
from ep.cpu.engine.loop_nest import LoopNest
from ep.cpu.engine.map.strided import StridedLoops, StridedOperand, StridedPlan, StridedWords, set_walk, word_of
from ep.cpu.engine.reduce.column_sums import columns_task, parts_task, rows_of_parts
from ep.cpu.engine.reduce.computed_segments import computed_state, computed_task, computed_words
from ep.cpu.engine.reduce.kernel import set_reduction
from ep.cpu.engine.reduce.plan import Part, ReduceLoops, may_overflow, parts_of, reduce_plan
from ep.cpu.engine.reduce.stages import (
    COLUMNS,
    COPY,
    FOLD,
    IN_MEMORY,
    MAP,
    OF_COLUMNS,
    PASSES,
    REDUCE,
    SEGMENTS,
    StageHead,
    StageLoops,
    StageProgram,
    reductions_task,
    rows_task,
)
from ep.cpu.engine.reduce.state import ComputedSegments, ReduceState
from ep.cpu.engine.reduce.walk import walk
from ep.cpu.kernels.expression import expression_kernel, writes_lines
from ep.cpu.kernels.row_places import Place, Places, next_rows
from ep.cpu.kernels.softmax import softmax_task
from ep.cpu.lines.sizes import LINE
from ep.cpu.machine.caches import last_level_caches
from ep.cpu.shared.context import ITSELF, NONE
from ep.cpu.shared.state import GRAIN_BYTES, LaunchState
from ep.include.data_type import DataType
from ep.include.number_kind import HALVES
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import ChoiceOp, ColumnOp, RowOp, SegmentSum, Step, Structure

_NEAR: Final = 2**15  # the most bytes of the rows of one turn, in all stages: those of an L1
_NEAR_FROM_MEMORY: Final = 2**13  # the same if data comes from memory, which is to stay busy during the computation
_NEAR_BEFORE_NEXT: Final = 2**14  # the same if the next rows are prefetched meanwhile
_NEAR_COLUMNS: Final = 2**18  # the same if rows are added to sums of columns, which are read and written once for all
_ADDED_ROWS: Final = 4  # that such sums add at once


class StagesPlan(StridedPlan):
    """The plan of a launch in stages. Making one compiles the tasks that the stages need.

    Rows go through all stages a few at a time. If other axes or long rows are reduced, each stage covers the whole
    launch, and the input of a reduction is computed as Reduce reads it.
    """

    def __init__(
        self,
        structure: Structure,
        arrays: Sequence[np.ndarray[Any, Any]],
        shape: Dims,
        reduced_shape: Dims,
        by_rows: bool,
    ) -> None:
        """Make the plan.

        arrays: results first. shape: the shape that all arrays broadcast to. reduced_shape: the same with 1 along
            reduced axes.
        """
        num_results, adds = len(structure.results), structure.segment_sum
        reduced, apart = structure.are_reduced(), list[int]()
        if adds is not None:  # a result has other axes than what it is computed from
            apart = [num_results + k for k in range(len(structure.sources)) if not reduced[k]]
        apart += [k for k, value in enumerate(structure.results) if value in structure.column_sums]
        of_chosen = [num_results + one for one in structure.chosen]
        super().__init__(arrays, num_results, shape if adds is None else reduced_shape, apart, of_chosen)
        self._structure, self._by_rows = stored_in_full(structure), by_rows
        self._shape, self._reduced_shape, self._length = shape, reduced_shape, shape[-1]
        self._counts = math.prod(shape), math.prod(reduced_shape)
        num_bytes = int(self.words[StridedLoops.num_bytes])
        self._places = Places(self._structure, arrays, shape, reduced_shape, by_rows, num_bytes)
        self._stages: list[tuple[StageHead, list[Place]]] = []
        # in arrays of the launch; one that all rows share is read from the cache
        each = (-(-array.size // max(self._counts[1], 1)) for array in arrays)
        most = (self._length if array.shape[-1:] != (1,) else 1 for array in arrays)
        self._row_bytes = sum(map(mul, map(min, each, most), (array.itemsize for array in arrays)))
        self._from_memory = self._counts[1] * self._row_bytes > last_level_caches(1)
        self._computing = 0  # what a row takes beside its bytes: in bytes that could be moved in the same time
        self._written = 0  # bytes of a row, by non-temporal stores
        self._columns = 0  # bytes of all sums of columns
        self._kept: list[Any] = []  # objects whose addresses are in use
        # without mask registers, masks of whole pieces take longer than a map that writes what is added up
        masks = DataType.kBool not in structure.sources or has_avx512()
        computes = self._length >= PIECE and masks
        stages = stages_of(self._structure, by_rows, computes, columns_compute=computes and not self._places.streams)
        for number, stage in enumerate(stages):
            for value in stage.writes:
                self._places.choose(value, stages[number:])
            self._add(stage, stages[number + 1 :])
        for k, value in enumerate(self._structure.results):
            self._add_result(value, k)
        self._write()
        del self._places, self._stages  # arrays of a launch must not live as long as its plan

    def _add_result(self, value: int, array: int) -> None:
        """Add the copy of a result to its array, unless a stage writes it there."""
        places = self._places
        source, target = places[value], places.of_array(value, array)
        if places.also.get(value, source).array == array:
            return
        if places.streams and source.slot >= 0 and places.is_streamed(value, target):
            size = target.data_type.itemsize
            self._written += size * self._length
            self._stages.append((StageHead(COPY, 0, self._length, size=size), [target, source]))
        else:
            self._copy(source, target, places.reduced[value])

    def _add(self, stage: Stage, later: Sequence[Stage]) -> None:
        if stage.op is None:
            assert stage.map is not None
            also = [value for value in stage.writes if value in self._places.also]
            again = tuple(stage.map.results[stage.writes.index(value)] for value in also)
            places = [self._places[value] for value in stage.writes] + [self._places.also[value] for value in also]
            places += [self._places[value] for value in stage.reads]
            self._add_map(stage.map._replace(results=stage.map.results + again), places, stage.reduced)
            return
        if isinstance(stage.op, SegmentSum):
            self._add_segments(stage, stage.op)
            return
        if isinstance(stage.op, ColumnOp):
            self._add_columns(stage)
            return
        if not self._by_rows:
            self._add_reduction(stage)
            return
        if stage.op is ChoiceOp.kElement:
            self._add_choice(stage)
            return
        if stage.map is not None:
            self._add_fold(stage)
            return
        (written,) = stage.writes
        sources = list(map(self._adjacent, stage.reads))
        source, places = sources[0], [self._places[written], *sources]
        if isinstance(stage.op, RowOp):
            task, cost = softmax_task(stage.op, source.data_type)
            self._computing += cost * self._length
            streams = self._places.streams and self._places.is_streamed(written, places[0])
            size = source.data_type.itemsize if streams and self._streamed(places[:1]) else 0
            read = stage.reads[0]
            read_later = read in self._structure.results or any(read in stage.reads for stage in later)
            reuses = source.slot >= 0 and not read_later and source.data_type not in HALVES
            kept = self._places.slots[source.slot] if reuses else 0
            self._stages.append((StageHead(PASSES, task, self._length, size=size, kept=kept), places))
            return
        axes = Axis(self._counts[1], False), Axis(self._length, True)
        assert isinstance(stage.op, ReduceOp)
        plan, state = self._reduction(stage.op, source.data_type, axes)
        if plan.words[ReduceLoops.plain_rows] and not may_overflow(stage.op, source.data_type):
            fold_rows = int(state.words[ReduceState.reduce_rows])
            self._stages.append((StageHead(FOLD, fold_rows, self._length, size=source.data_type.itemsize), places))
        else:
            words = self._keep(plan), self._keep(state)
            self._stages.append((StageHead(REDUCE, walk(), self._length, *words), places))

    def _adjacent(self, read: int) -> Place:
        """Return the place of a value as contiguous rows; it is copied if it has other strides."""
        source = self._places[read]
        if not self._places.is_adjacent(source, reduced=False):
            source = self._places.in_memory(read)
            self._copy(self._places[read], source, reduced=False)
        return source

    def _add_fold(self, stage: Stage) -> None:
        """Add sums of rows of elements that a map computes in the same loop."""
        assert isinstance(stage.map, Structure)
        assert isinstance(stage.op, ReduceOp)
        places = [self._places[value] for value in (*stage.writes, *stage.reads)]
        task, plan = self._map(stage.map, places, False, (stage.op,) * stage.sums)
        self._computing += self._length * DataType.kFloat.itemsize * stage.sums
        self._stages.append((StageHead(MAP, task, self._length, plan), places))

    def _add_columns(self, stage: Stage) -> None:
        """Add a sum of the columns of rows; or several, of elements that a map computes in the same loop."""
        tasks = list[tuple[StageHead, list[Place]]]()
        places, strides = list[Place](), (*[0] * (len(self._shape) - 1), DataType.kDouble.itemsize)
        for value, read in zip(stage.writes, stage.reads, strict=False):
            if value not in self._structure.column_sums:
                break
            state, data_type = LaunchState(ReduceState, ()), self._structure.data_type(value)
            set_reduction(state, ReduceOp.kSum, data_type, (Part.COLUMNS, Part.VALUES))
            target, task = [self._places[value]], 0
            if stage.map is None:
                target, task = [*target, self._adjacent(read)], int(state.words[ReduceState.fold_columns])
            of_stage = task, self._length, 0, self._keep(state)
            tasks.append((StageHead(COLUMNS, *of_stage, size=data_type.itemsize, kept=self._columns), target))
            places.append(Place(DataType.kDouble, strides, OF_COLUMNS, offset=self._columns))
            self._columns += self._length * int(state.words[ReduceState.value_size])
        if stage.map is not None:
            places += [self._places[value] for value in (*stage.writes[stage.sums :], *stage.reads)]
            task, plan = self._map(stage.map, places, False, (ColumnOp.kSum,) * stage.sums)
            self._computing += self._length * DataType.kFloat.itemsize * stage.sums
            self._stages.append((StageHead(MAP, task, self._length, plan), places))
        self._stages += tasks

    def _add_choice(self, stage: Stage) -> None:
        """Add a map of one number for each row: of the row as elements along an axis in front, the chosen one."""
        (read, index), (written,) = stage.reads, stage.writes
        row, indices = self._places[read], self._places[index]
        row = row._replace(rows=self._length, row_bytes=row.strides[-1])
        step = Step(ChoiceOp.kRow, (0, 1), row.data_type)
        structure = Structure((row.data_type, indices.data_type), (), (step,), (2,))
        self._add_map(structure, [self._places[written], row, indices], reduced=True)

    def _add_reduction(self, stage: Stage) -> None:
        """Add a reduction of elements that a map computes, or of the elements of a source."""
        assert isinstance(stage.op, ReduceOp)
        gone = tuple(axis for axis, size in enumerate(self._reduced_shape) if size != self._shape[axis])
        sources = [self._places[value] for value in stage.reads]
        map_, computed = stage.map, (0, 0)
        if map_ is None and not self._places.is_adjacent(sources[0], reduced=False):
            map_ = identity_of(sources[0].data_type)
        kind = sources[0].data_type if map_ is None else map_.data_type(map_.results[0])
        axes = ReduceShape(self._shape, gone).simplified()
        plan, state = map(self._keep, self._reduction(stage.op, kind, axes, map_ is not None))
        if map_ is not None:
            computed = self._map(map_, [self._places.as_read(kind), *sources], reduced=False)
        places = [self._places[stage.writes[0]], *sources]
        self._stages.append((StageHead(REDUCE, walk(), self._counts[0], plan, state, *computed), places))

    def _add_segments(self, stage: Stage, op: SegmentSum) -> None:
        """Add a sum of segments of elements that a map computes."""
        *reads, segments = stage.reads
        first, last = op.batch_dims + op.outer_dims, op.batch_dims + op.outer_dims + op.row_dims
        shape, ids_type = self._shape, self._structure.data_type(segments)
        parts = shape[: op.batch_dims], shape[op.batch_dims : first], shape[first:last], shape[last:]
        batch, outer, rows, inner = map(math.prod, parts)
        data_type = self._structure.data_type(stage.writes[0])
        map_ = stage.map or identity_of(data_type)
        sizes = SegmentSizes(batch, outer, self._reduced_shape[first], inner, rows, 0)
        words = np.zeros(ComputedSegments.num_words, np.int64)
        for field, value in computed_words(sizes, data_type, ids_type).items():
            words[getattr(ComputedSegments, field)] = value
        state = self._keep(computed_state(data_type, ids_type))
        of_stage = self._keep(Words(words, ComputedSegments.addresses)), state
        sources = [self._places[value] for value in reads]
        computed = self._map(map_, [self._places.as_read(data_type), *sources], reduced=False)
        places = [self._places[stage.writes[0]], *sources, self._places[segments]]
        self._stages.append((StageHead(SEGMENTS, computed_task(), 0, *of_stage, *computed), places))

    def _reduction(
        self, op: ReduceOp, data_type: DataType, axes: Sequence[Axis], computed: bool = False
    ) -> tuple[LoopNest, LaunchState]:
        """Return a plan and a state of Reduce. computed: whether a map computes what is reduced."""
        plan = reduce_plan(signatures.REDUCE, op, data_type, axes, self._counts)
        state = LaunchState(ReduceState, ())
        set_reduction(state, op, data_type, parts_of(plan.words, op, data_type, computed))
        return plan, state

    def _map(
        self, structure: Structure, places: list[Place], reduced: bool, sums: tuple[ReduceOp | ColumnOp, ...] = ()
    ) -> tuple[int, int]:
        """Return the task of a map, and the address of its plan.

        places: of its operands, results first. sums: what folds the rows of the first results, if anything does.
        """
        shape, strides = self._places.shape_of(reduced), [place.strides for place in places]
        if not sums:
            dims, *walks = simplify_walk(shape, *strides)
        else:  # the walk's innermost axis is a row
            dims, *walks = simplify_walk(shape[:-1], *(walk[:-1] for walk in strides))
            dims, *walks = ((*walk, last[-1]) for walk, last in zip((dims, *walks), (shape, *strides), strict=True))
        made = StridedWords(len(places))
        words, steps = made.words, set_walk(made.words, dims, walks, [place.data_type.itemsize for place in places])
        for k, place in enumerate(places):
            words[word_of(k, StridedOperand.rows)] = place.rows
            words[word_of(k, StridedOperand.row_bytes)] = place.row_bytes
        streamed = None
        if self._places.streams and not reduced:
            may_stream = not sums and writes_lines(structure, steps)
            streamed = self._streamed(places[: len(structure.results)]) if may_stream else []
        return expression_kernel(structure, steps, sums, streamed), self._keep(made)

    def _streamed(self, places: list[Place]) -> list[int]:
        """Return the numbers of the results of a stage of which non-temporal stores may write lines."""
        found = [k for k, place in enumerate(places) if place.array >= 0 and self._places.is_adjacent(place, False)]
        found = [k for k in found if places[k].data_type.itemsize == places[found[0]].data_type.itemsize]
        self._written += sum(places[k].data_type.itemsize for k in found) * self._length
        return found

    def _add_map(self, structure: Structure, places: list[Place], reduced: bool) -> None:
        """Add a map over elements, or over one element per row."""
        count = (1 if reduced else self._length) if self._by_rows else self._counts[reduced]
        task, plan = self._map(structure, places, reduced)
        self._stages.append((StageHead(MAP, task, count, plan), places))

    def _copy(self, source: Place, target: Place, reduced: bool) -> None:
        self._add_map(identity_of(source.data_type), [target, source], reduced)

    def _keep(self, words: Words | list[int], addresses: Sequence[int] = ()) -> int:
        """Return the address of words, and keep them as long as the plan. addresses: as for `Words`, of a list."""
        made = words if isinstance(words, Words) else Words(np.array(words, np.int64), addresses)
        self._kept.append(made)
        return made.address

    def _write(self) -> None:
        """Write the program, and the task that runs it."""
        num_rows, slots, fetching = self._counts[1], self._places.slots, self._fetching()
        fetched = self._places.following() if fetching else []
        if fetched:  # results go to memory at once, or a softmax computes long
            row_bytes, near = sum(place.data_type.itemsize for place in fetched) * self._length, _NEAR_BEFORE_NEXT
        else:
            row_bytes, near = self._row_bytes, _NEAR_FROM_MEMORY if self._from_memory else _NEAR
        near = _NEAR_COLUMNS if self._columns else near
        together = max(near // (row_bytes + sum(slots)), 1) if self._by_rows else num_rows
        if self._columns:
            together = max(together & -_ADDED_ROWS, _ADDED_ROWS)
        offsets, total = [], 0
        for size in slots:
            offsets.append(total)
            total += -(-size * together // LINE) * LINE

        def operand_of(place: Place) -> tuple[int, int, int]:
            if place.slot >= 0:
                return IN_MEMORY, offsets[place.slot], slots[place.slot]
            return place.array, place.offset, 0

        part_rows, of_parts = num_rows, (0, 0)
        if self._columns:
            part_rows, of_parts = rows_of_parts(num_rows, self._row_bytes), (parts_task(), rows_task())
        program = [together, total, len(self._stages), len(fetched), num_rows, part_rows, self._columns, *of_parts]
        for k, (head, places) in enumerate(self._stages):
            operands, ahead = map(operand_of, places), 0
            if k in fetching and fetched:
                ahead = self._keep(next_rows(fetched, together, self._length, fetching.index(k), len(fetching)))
            program += [*head, len(places), self._keep([word for operand in operands for word in operand]), ahead]
        of_plan = self._keep(program, addresses_in(StageProgram, StageLoops, len(self._stages)))
        task, count = (rows_task(), num_rows) if self._by_rows else (reductions_task(), 1)
        if self._columns:
            task, count = columns_task(), 1
        cost = self._row_bytes + sum(slots) + self._computing
        streaming = ITSELF if self._written > 0 else NONE
        self.set(task=task, program=of_plan, count=count, size=self._written, streaming=streaming)
        self.set(grain=max(GRAIN_BYTES // cost, 1))

    def _fetching(self) -> list[int]:
        """Return the numbers of the stages that prefetch: those of softmaxes, which compute longest, or else maps. The
        gradients of softmaxes, with two sources, prefetch nothing."""
        kinds = [
            head.kind if head.num_elements > 1 and (head.kind != PASSES or len(places) == 2) else None
            for head, places in self._stages
        ]
        kind = PASSES if PASSES in kinds else MAP
        fetches = self._places.streams or (self._from_memory and kind == PASSES)
        return [k for k, one in enumerate(kinds) if fetches and one == kind]
