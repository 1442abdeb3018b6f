"""The program of a kernel for the rows of an Expression: passes over a row, and between them values with one number per
row.

A pass traverses the elements of a row in the same way as Reduce or Softmax, so its sums have the same bits: it computes
a map, adds the results to reductions, and writes. Values that later passes read are kept, in shared memory if there is
room. A softmax is three passes: maxima, sums below them, and the elements; its gradient has no maxima.

The element of a row that an index chooses needs no pass: each thread computes this one element from those of sources.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from ep.common.primitive.stages import Stage, stages_of, stored_in_full
from ep.cuda.compile.launch_config import pack_elements
from ep.cuda.engine.map.expression_plan import operands_of
from ep.cuda.engine.reduce.shape import Stored, stored_for
from ep.include.data_type import DataType
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import ChoiceOp, RowOp, Structure


class Sharing(NamedTuple):
    """The division of a row among threads.

    Packs of `elements` are processed in turns, as by Reduce, or by the softmax of a data type.
    """

    elements: int
    softmax: DataType | None = None


@dataclass
class Reduced:
    """A reduction of a pass. read, written: values. stored: the types of the elements for Reduce."""

    read: int
    written: int
    stored: Stored

    @property
    def sharing(self) -> Sharing:
        """The division of Reduce."""
        return Sharing(pack_elements(self.stored.loaded))


@dataclass
class Softmax:
    """A softmax, its logarithm, or the gradient of one. reads, written: values; data_type: of all."""

    reads: tuple[int, ...]
    written: int
    op: RowOp
    data_type: DataType

    @property
    def sharing(self) -> Sharing:
        """The division of the primitive."""
        return Sharing(pack_elements(self.data_type), self.data_type)

    @property
    def has_exponentials(self) -> bool:
        """Whether its elements are those that its sum has added up, times a number."""
        return self.op is RowOp.kSoftmax


@dataclass
class Pass:
    """A pass over the elements of a row.

    applied: softmaxes whose elements it computes. map: computes `map.writes`, from those too.
    tops, sums: softmaxes whose maxima it finds, and whose sums it makes below them.
    reads: the values with elements that it reads, of others; of these, only_applied are read by softmaxes of `applied`
        alone, which do not need them if their exponentials are kept.
    """

    sharing: Sharing
    map: Stage | None = None
    reductions: list[Reduced] = field(default_factory=list)
    applied: list[Softmax] = field(default_factory=list)
    tops: list[Softmax] = field(default_factory=list)
    sums: list[Softmax] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)
    only_applied: set[int] = field(default_factory=set)

    @property
    def makes(self) -> tuple[int, ...]:
        """The values that it computes elements of."""
        return *(one.written for one in self.applied), *(self.map.writes if self.map else ())

    def find_reads(self, reduced: Sequence[bool]) -> None:
        """Set `reads`; reduced: whether each value is one number a row."""
        others = [one for one in self.applied if not one.has_exponentials]
        reads = {one.read for one in self.reductions}
        reads |= {read for one in (*others, *self.tops, *self.sums) for read in one.reads}
        reads |= set(self.map.reads) if self.map else set()
        reads, applied = (
            {one for one in each if not reduced[one]}.difference(self.makes)
            for each in (reads, {read for one in self.applied for read in one.reads})
        )
        self.reads, self.only_applied = reads | applied, applied - reads


class ChosenElement(NamedTuple):
    """An element of each row, which an index chooses.

    read, place, written: values; its place in the row is a source. steps: the maps and softmaxes that compute the one
    element of `read`, in order. sources: those with elements from which they do so.
    """

    read: int
    place: int
    written: int
    steps: tuple[Stage | Softmax, ...]
    sources: tuple[int, ...]


class RowProgram:
    """The steps of a row, in order.

    operands: those of the kernel. structure: theirs, stored in full. reduced: of its values, which have one element a
    row.
    parts: passes, elements that indices choose, and maps of values with one number per row.
    """

    def __init__(self, structure: Structure) -> None:
        self.operands = operands_of(structure)
        self.structure = stored_in_full(self.operands.structure)
        self.reduced = self.structure.are_reduced()
        self.parts: list[Pass | ChosenElement | Stage] = []
        self._stages = stages_of(self.structure)
        whole, usual, waiting = self._whole_rows(), self._usual(), list[Stage]()
        for stage in self._stages:
            if stage.op is ChoiceOp.kElement:  # later, as a pass may join the one before
                waiting.append(stage)
                continue
            if any(one.writes[0] in stage.reads for one in waiting):
                self.parts += map(self._chosen, waiting)
                waiting.clear()
            last = self.parts[-1] if self.parts else None
            if stage.op is not None:
                self._add_rows(self._of_rows(stage), last, whole)
            elif stage.reduced:
                self.parts.append(stage)
            elif whole.isdisjoint(stage.writes):
                continue
            elif isinstance(last, Pass) and last.applied and not (last.map or last.reductions or last.tops):
                last.map = stage
            else:
                self.parts.append(Pass(usual, stage))
        self.parts += map(self._chosen, waiting)
        for part in self.passes:
            part.find_reads(self.reduced)

    @property
    def passes(self) -> list[Pass]:
        """The passes of all parts."""
        return [part for part in self.parts if isinstance(part, Pass)]

    @property
    def exponentials(self) -> list[tuple[Softmax, int, int]]:
        """The softmaxes whose exponentials later passes need, and the numbers of the passes that compute and read
        them."""
        applied = [(one, number) for number, part in enumerate(self.passes) for one in part.applied]
        summed = {one.written: number for number, part in enumerate(self.passes) for one in part.sums}
        return [(one, summed[one.written], number) for one, number in applied if one.has_exponentials]

    @property
    def chosen(self) -> list[ChosenElement]:
        """The elements that indices choose."""
        return [part for part in self.parts if isinstance(part, ChosenElement)]

    @property
    def sharings(self) -> tuple[Sharing, ...]:
        """The different divisions of the passes: one, unless reduced elements have several types, or there are
        softmaxes; none if there are no passes."""
        return tuple(dict.fromkeys(part.sharing for part in self.passes))

    def read_in(self, value: int, has_exponentials: bool = False) -> list[int]:
        """Return the numbers of the passes that read a value which they do not compute.

        has_exponentials: whether the exponentials of softmaxes are kept.
        """
        return [
            number
            for number, part in enumerate(self.passes)
            if value in part.reads and not (has_exponentials and value in part.only_applied)
        ]

    def made_in(self, value: int) -> int:
        """Return the number of the pass that computes a value with elements."""
        (number,) = (number for number, part in enumerate(self.passes) if value in part.makes)
        return number

    def is_computed(self, value: int) -> bool:
        """Return whether a value is computed, and has elements."""
        return not self.reduced[value] and value >= len(self.structure.sources)

    def _whole_rows(self) -> set[int]:
        """Return the values of which passes read or write all elements; of others, only chosen elements are needed."""
        found = {*self.structure.results}
        for stage in reversed(self._stages):
            if stage.op is not ChoiceOp.kElement and (stage.op is not None or found.intersection(stage.writes)):
                found.update(stage.reads)
        return found

    def _usual(self) -> Sharing:
        """Return the division of passes that reduce nothing: that of the first other one."""
        rows = [stage for stage in self._stages if stage.op is not None]
        for stage in rows:
            if stage.op is not ChoiceOp.kElement:
                return self._of_rows(stage).sharing
        return Sharing(pack_elements(*(self.structure.data_type(stage.reads[0]) for stage in rows)))

    def _chosen(self, stage: Stage) -> ChosenElement:
        """Return the element of a row, and how it is computed."""
        (read, place), (written,) = stage.reads, stage.writes
        needed, steps = {read}, list[Stage | Softmax]()
        for step in reversed(self._stages):
            if step.reduced or isinstance(step.op, ReduceOp | ChoiceOp) or needed.isdisjoint(step.writes):
                continue
            softmax = None if step.op is None else self._of_rows(step)
            assert not isinstance(softmax, Reduced)
            steps.append(softmax or step)
            needed.update(step.reads)
        sources = (one for one in sorted(needed) if one < len(self.structure.sources) and not self.reduced[one])
        return ChosenElement(read, place, written, tuple(steps[::-1]), tuple(sources))

    def _of_rows(self, stage: Stage) -> Reduced | Softmax:
        """Return the reductions and softmaxes of a stage."""
        (written,), data_type = stage.writes, self.structure.data_type(stage.reads[0])
        if isinstance(stage.op, RowOp):
            return Softmax(stage.reads, written, stage.op, data_type)
        assert isinstance(stage.op, ReduceOp)
        return Reduced(stage.reads[0], written, stored_for(stage.op, data_type))

    def _add_rows(self, added: Reduced | Softmax, last: Pass | ChosenElement | Stage | None, whole: Set[int]) -> None:
        """Add a reduction or a softmax, to the previous pass if it traverses elements in the same way.

        whole: the values of which all elements are needed.
        """
        if isinstance(added, Softmax):
            if not added.op.is_gradient:
                if not isinstance(last, Pass):  # in whichever order a maximum is found, it is the same
                    last = Pass(added.sharing)
                    self.parts.append(last)
                last.tops.append(added)
            self.parts.append(Pass(added.sharing, sums=[added]))
            if added.written in whole:
                self.parts.append(Pass(added.sharing, applied=[added]))
            return
        if isinstance(last, Pass) and not (last.reductions or last.sums):
            last.sharing = added.sharing
        if not isinstance(last, Pass) or last.sharing != added.sharing:
            last = Pass(added.sharing)
            self.parts.append(last)
        last.reductions.append(added)


def has_row_kernel(structure: Structure) -> bool:
    """Return whether a kernel computes all rows of a structure.

    It has no sums of segments, and no complex sums: Reduce adds up their parts as columns, not as rows.
    """
    if structure.segment_sum is not None:
        return False
    rows = [step for step in structure.steps if isinstance(step.op, ReduceOp)]
    types = [structure.data_type(step.operands[0]) for step in rows]
    return structure.has_rows and not any(
        stored_for(step.op, data_type).in_parts  # type: ignore[arg-type]
        for step, data_type in zip(rows, types, strict=True)
    )
