"""The program of a kernel for the rows of an Expression: passes over a row, and between them values with one number per
row.

A pass traverses the elements of a row in the same way as Reduce or Softmax, so its sums have the same bits: it computes
a map, adds the results to reductions, and writes. Values that later passes read are kept, in shared memory if there is
room. A softmax is three passes: maxima, sums below them, and the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """A softmax, or its logarithm. read, written: values; data_type: of both."""

    read: int
    written: int
    op: RowOp
    data_type: DataType

    @property
    def sharing(self) -> Sharing:
        """The division of the primitive."""
        return Sharing(pack_elements(self.data_type), self.data_type)


@dataclass
class Pass:
    """A pass over the elements of a row.

    applied: softmaxes whose elements it computes. map: computes `map.writes`, from those too.
    tops, sums: softmaxes whose maxima it finds, and whose sums it makes below them.
    reads: the values with elements that it reads, of others.
    """

    sharing: Sharing
    map: Stage | None = None
    reductions: list[Reduced] = field(default_factory=list)
    applied: list[Softmax] = field(default_factory=list)
    tops: list[Softmax] = field(default_factory=list)
    sums: list[Softmax] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)

    @property
    def makes(self) -> tuple[int, ...]:
        """The values that it computes elements of."""
        return *(one.written for one in self.applied), *(self.map.writes if self.map else ())

    def find_reads(self, reduced: Sequence[bool]) -> None:
        """Set `reads`; reduced: whether each value is one number a row."""
        reads = {one.read for one in self.reductions} | {one.read for one in (*self.applied, *self.tops, *self.sums)}
        reads |= set(self.map.reads) if self.map else set()
        self.reads = {one for one in reads if not reduced[one]}.difference(self.makes)


class RowProgram:
    """The steps of a row, in order.

    operands: those of the kernel. structure: theirs, stored in full. reduced: of its values, which have one element a
    row.
    parts: passes, and maps of values with one number per row.
    """

    def __init__(self, structure: Structure) -> None:
        self.operands = operands_of(structure)
        self.structure = stored_in_full(self.operands.structure)
        self.reduced = self.structure.are_reduced()
        self.parts: list[Pass | Stage] = []
        stages = stages_of(self.structure)
        usual = next(self._of_rows(stage) for stage in stages if stage.op is not None).sharing
        for stage in stages:
            last = self.parts[-1] if self.parts else None
            if stage.op is not None:
                self._add_rows(self._of_rows(stage), last)
            elif stage.reduced:
                self.parts.append(stage)
            elif isinstance(last, Pass) and last.applied and not (last.map or last.reductions or last.tops):
                last.map = stage
            else:
                self.parts.append(Pass(usual, stage))
        for part in self.passes:
            part.find_reads(self.reduced)

    @property
    def passes(self) -> list[Pass]:
        """The passes of all parts."""
        return [part for part in self.parts if isinstance(part, Pass)]

    @property
    def sharings(self) -> tuple[Sharing, ...]:
        """The different divisions of the passes: one, unless reduced elements have several types, or there are
        softmaxes."""
        return tuple(dict.fromkeys(part.sharing for part in self.passes))

    def read_in(self, value: int) -> list[int]:
        """Return the numbers of the passes that read a value which they do not compute."""
        return [number for number, part in enumerate(self.passes) if value in part.reads]

    def made_in(self, value: int) -> int:
        """Return the number of the pass that computes a value with elements."""
        (number,) = (number for number, part in enumerate(self.passes) if value in part.makes)
        return number

    def is_computed(self, value: int) -> bool:
        """Return whether a value is computed, and has elements."""
        return not self.reduced[value] and value >= len(self.structure.sources)

    def _of_rows(self, stage: Stage) -> Reduced | Softmax:
        """Return the reductions and softmaxes of a stage."""
        (read,), (written,), data_type = stage.reads, stage.writes, self.structure.data_type(stage.reads[0])
        if isinstance(stage.op, RowOp):
            return Softmax(read, written, stage.op, data_type)
        assert isinstance(stage.op, ReduceOp)
        return Reduced(read, written, stored_for(stage.op, data_type))

    def _add_rows(self, added: Reduced | Softmax, last: Pass | Stage | None) -> None:
        """Add a reduction or a softmax, to the previous pass if it traverses elements in the same way."""
        if isinstance(added, Softmax):
            if not isinstance(last, Pass):  # in whichever order a maximum is found, it is the same
                last = Pass(added.sharing)
                self.parts.append(last)
            last.tops.append(added)
            self.parts += Pass(added.sharing, sums=[added]), Pass(added.sharing, applied=[added])
            return
        if isinstance(last, Pass) and not (last.reductions or last.sums):
            last.sharing = added.sharing
        if not isinstance(last, Pass) or last.sharing != added.sharing:
            last = Pass(added.sharing)
            self.parts.append(last)
        last.reductions.append(added)


def has_row_kernel(structure: Structure) -> bool:
    """Return whether a kernel computes all rows of a structure.

    It has no complex sums, which Reduce adds up by parts, no sums of segments, and does not choose elements of rows.
    """
    if structure.segment_sum is not None or any(step.op is ChoiceOp.kElement for step in structure.steps):
        return False
    rows = [step for step in structure.steps if isinstance(step.op, ReduceOp)]
    types = [structure.data_type(step.operands[0]) for step in rows]
    return structure.has_rows and not any(
        stored_for(step.op, data_type).in_parts  # type: ignore[arg-type]
        for step, data_type in zip(rows, types, strict=True)
    )
