"""The plan of a launch of an Expression that only reduces: in stages, each a launch of an engine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from ep.common.primitive.expression_arrays import ExpressionDims
from ep.common.primitive.reduce_shape import ReduceShape
from ep.common.primitive.segment_sizes import SegmentSizes
from ep.common.primitive.stages import identity_of, stages_of, stored_in_full
from ep.common.primitive.strides import contiguous_strides
from ep.common.stored_types import unit_of
from ep.cuda.compile.launch_config import PACK_BYTES
from ep.cuda.engine.map.access import Variant
from ep.cuda.engine.map.expression_plan import (
    ExpressionMap,
    Layout,
    are_aligned,
    operands_of,
    walk_in_order,
)
from ep.cuda.engine.map.plan import MapShape, map_plan
from ep.cuda.engine.reduce.plan import ReducePlan
from ep.cuda.engine.reduce.plan import Variant as ReduceVariant
from ep.cuda.engine.reduce.segment_plan import SegmentPlan, StepVariant, segment_plan
from ep.cuda.engine.reduce.segment_steps import Buffers, StepLaunch, added_elements, buffer_places, segment_steps
from ep.cuda.engine.reduce.shape import Shape, stored_for
from ep.include.data_type import DataType
from ep.include.number_kind import INTEGERS
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import SegmentSum, Structure

_LINE: Final = 256  # bytes: the alignment of each value in memory


class StageVariant(NamedTuple):
    """A kernel of a stage.

    number: of the stage. variant: of its engine. read: how the operands of what is reduced are read.
    """

    number: int
    variant: Variant | ReduceVariant | StepVariant
    read: Variant | None = None


class Place(NamedTuple):
    """A value's place. side: of the launch; after the last one is its memory, in which `offset` bytes are before."""

    side: int
    layout: Layout | None
    offset: int = 0


class MapStage:
    """A map of values with one element for each result. reads, writes: values of the whole structure."""

    def __init__(self, structure: Structure, reads: Sequence[int], writes: Sequence[int]) -> None:
        self.map = ExpressionMap(structure)
        self.operands, self.writes = self.map.operands, writes
        self.reads = [reads[one] for one in self.operands.sources]


class ReduceLaunch(NamedTuple):
    """The launch of a reduction: how, by which kernel, and the words of its sources and of the walk over them."""

    plan: ReducePlan
    variant: ReduceVariant
    read: Variant
    sources: Sequence[int]
    walk: Sequence[int]


class ReduceStage:
    """A reduction of elements that a map computes.

    operands: those of the map. stored: the types of the reduced elements and of the results for kernels.
    """

    def __init__(self, op: ReduceOp, structure: Structure, reads: Sequence[int], writes: Sequence[int]) -> None:
        self.operands, self.writes = operands_of(structure), writes
        self.reads = [reads[one] for one in self.operands.sources]
        self.stored = stored_for(op, structure.data_type(structure.results[0]))

    def launch(self, shape: Shape, walk: MapShape, sources: Sequence[Any]) -> ReduceLaunch:
        """Return the launch over a walk; sources: an address or a number for each."""
        plan = shape.plan(PACK_BYTES)
        whole, count = plan.variant.aligned, plan.variant.elements // (2 if self.stored.in_parts else 1)
        elements = count if whole else 1  # otherwise packs are not aligned to their elements
        aligned = tuple(are_aligned(sources, self.operands.pack_bytes(elements)))
        known = walk.plans.get(aligned)
        if known is None:
            known = walk.plans[aligned] = map_plan(walk, aligned, elements, num_results=0)
        variant = plan.variant._replace(aligned=known.variant.elements == count)
        return ReduceLaunch(plan, variant, known.variant, self.operands.words(sources, walk.chosen), known.words)

    def usual(self) -> ReduceLaunch:
        """Return the launch over a row of some length."""
        layouts, dims = self.operands.usual_layouts(), (1, 1024)
        walk = walk_in_order(layouts, dims, self.operands.chosen)
        return self.launch(Shape(ReduceShape(dims, (1,)), self.stored), walk, [0] * len(layouts))


class SegmentStage:
    """A sum of segments of elements that a map computes. stored: the type that kernels add; ids_type: of segments."""

    def __init__(
        self, op: SegmentSum, structure: Structure, ids_type: DataType, reads: Sequence[int], writes: Sequence[int]
    ) -> None:
        """reads: the operands of the map, then the segments of rows."""
        self.op, self.operands, self.ids_type, self.writes = op, operands_of(structure), ids_type, writes
        self.reads = [*(reads[one] for one in self.operands.sources), reads[-1]]
        data_type = structure.data_type(structure.results[0])
        self.stored = unit_of(data_type) if data_type in INTEGERS else data_type

    def sizes(self, dims: ExpressionDims) -> SegmentSizes:
        """Return the sizes of a launch."""
        first, last = self.op.batch_dims + self.op.outer_dims, sum(self.op)
        ranges = (0, self.op.batch_dims), (self.op.batch_dims, first), (first, last), (last, len(dims.whole))
        batch, outer, rows, inner = (math.prod(dims.whole[begin:end]) for begin, end in ranges)
        return SegmentSizes(batch, outer, dims.reduced[first], inner, rows, 0)

    def launches(
        self, shape: SegmentShape, walk: MapShape, sides: Sequence[Any]
    ) -> Iterator[tuple[Variant, StepLaunch]]:
        """Yield how rows are read, and each launch; sides: addresses of the result, the operands, the segments of rows
        and memory, or numbers."""
        out, *sources, ids, memory = sides
        elements = added_elements(shape.sizes, self.stored, out)
        aligned = tuple(are_aligned(sources, self.operands.pack_bytes(elements)))
        known = walk.plans.get(key := (elements > 1, *aligned))
        if known is None:
            known = walk.plans[key] = map_plan(walk, aligned, elements, num_results=0)
        places = buffer_places(shape.plan, self.stored)
        data = self.operands.words(sources, walk.chosen)
        buffers = Buffers(data, known.words, ids, out, *[memory + place for place in places[:-1]])
        for step in segment_steps(shape.sizes, shape.plan, buffers, self.ids_type, elements):
            yield known.variant, step


class SegmentShape(NamedTuple):
    """The sizes of a sum of segments, and the plan of its launches."""

    sizes: SegmentSizes
    plan: SegmentPlan


class StageWork(NamedTuple):
    """The work of a stage. walk: over its sources, and of a map over results. places: of results, then of sources.

    shape: of a reduction or a sum of segments.
    """

    number: int
    walk: MapShape
    places: Sequence[Place]
    shape: Shape | SegmentShape | None = None


AnyStage = MapStage | ReduceStage | SegmentStage


class StagesPlan(NamedTuple):
    """A launch. num_bytes: the bytes of memory for values that one stage writes for others."""

    works: Sequence[StageWork]
    num_bytes: int


class Stages:
    """The stages of a structure that only reduces, and copies of results that stages cannot write directly."""

    def __init__(self, structure: Structure) -> None:
        self.structure = stored_in_full(structure)
        self.stages: list[AnyStage] = []
        for stage in stages_of(self.structure, by_rows=False):
            if stage.op is None:
                assert stage.map is not None
                self.stages.append(MapStage(stage.map, stage.reads, stage.writes))
                continue
            computed = stage.map or identity_of(self.structure.data_type(stage.reads[0]))
            if isinstance(stage.op, SegmentSum):
                ids_type = self.structure.data_type(stage.reads[-1])
                self.stages.append(SegmentStage(stage.op, computed, ids_type, stage.reads, stage.writes))
                continue
            assert isinstance(stage.op, ReduceOp)
            self.stages.append(ReduceStage(stage.op, computed, stage.reads, stage.writes))
        self._num_stages = len(self.stages)
        for value in self.structure.results:
            self.stages.append(MapStage(identity_of(self.structure.data_type(value)), (value,), (value,)))

    def plan(self, layouts: Sequence[Layout | None], dims: ExpressionDims) -> StagesPlan:
        """Return the plan of a launch with elements; layouts: of results, then of sources."""
        return _Planning(self, layouts, dims).plan()

    def of_structure(self) -> Sequence[AnyStage]:
        """Return the stages without the copies."""
        return self.stages[: self._num_stages]


class _Planning:
    """places: of the values that are there."""

    def __init__(self, stages: Stages, layouts: Sequence[Layout | None], dims: ExpressionDims) -> None:
        self._stages, self._layouts, self._dims = stages, layouts, dims
        self._results = stages.structure.results
        self._num_bytes, self._works = 0, list[StageWork]()
        first = len(self._results)
        self._places = {k - first: Place(k, layout) for k, layout in enumerate(layouts) if k >= first}

    def plan(self) -> StagesPlan:
        stages = self._stages.of_structure()
        for number, stage in enumerate(stages):
            for value in stage.writes:
                self._places[value] = self._place(value, stage, stages[number + 1 :])
            self._works.append(self._work(number, stage, [*stage.writes, *stage.reads]))
        for k, value in enumerate(self._results):
            if self._places[value].side != k:
                places = Place(k, self._layouts[k]), self._places[value]
                copy = self._stages.stages[len(stages) + k]
                self._works.append(StageWork(len(stages) + k, self._walk(places, copy), places))
        return StagesPlan(self._works, self._num_bytes)

    def _work(self, number: int, stage: AnyStage, values: Sequence[int]) -> StageWork:
        places = [self._places[value] for value in values]
        if isinstance(stage, MapStage):
            return StageWork(number, self._walk(places, stage), places)
        whole, reduced = self._dims
        if isinstance(stage, SegmentStage):
            sizes = stage.sizes(self._dims)
            plan = segment_plan(sizes)
            memory = Place(len(self._layouts), None, self._reserved(buffer_places(plan, stage.stored)[-1]))
            layouts = [place.layout for place in places[1:-1]]
            walk = walk_in_order(layouts, whole, stage.operands.chosen)
            return StageWork(number, walk, [*places, memory], SegmentShape(sizes, plan))
        gone = tuple(axis for axis, size in enumerate(whole) if self._dims.are_rows or size != reduced[axis])
        shape = Shape(ReduceShape(whole, gone[-1:] if self._dims.are_rows else gone), stage.stored)
        walk = walk_in_order([place.layout for place in places[1:]], whole, stage.operands.chosen)
        return StageWork(number, walk, places, shape)

    def _reserved(self, num_bytes: int) -> int:
        """Return the offset of new memory."""
        begin = self._num_bytes
        self._num_bytes += -(-num_bytes // _LINE) * _LINE
        return begin

    def _walk(self, places: Sequence[Place], stage: AnyStage) -> MapShape:
        assert isinstance(stage, MapStage)
        return stage.map.walk([place.layout for place in places], self._dims.reduced)

    def _place(self, value: int, stage: AnyStage, later: Sequence[AnyStage]) -> Place:
        """Return the place to which a stage writes a value: its array, unless a later stage may read a source there."""
        if value in self._results:
            k = self._results.index(value)
            layout = self._layouts[k]
            assert layout is not None
            read = {self._places[one].layout for each in later for one in each.reads if one in self._places}
            may_be_read = (layout.shape, layout.steps()) in [(one.shape, one.steps()) for one in read if one]
            if not may_be_read and (isinstance(stage, MapStage) or _is_contiguous(layout)):
                return Place(k, layout)
        size = self._stages.structure.data_type(value).itemsize
        begin = self._reserved(math.prod(self._dims.reduced) * size)
        return Place(len(self._layouts), Layout(self._dims.reduced, None), begin)


def _is_contiguous(layout: Layout) -> bool:
    wanted = contiguous_strides(layout.shape)
    return all(size == 1 or a == b for size, a, b in zip(layout.shape, layout.steps(), wanted, strict=True))
