"""What a kernel for the rows of an Expression does: passes over a row, and between them what is one number a row.

A pass goes over the elements of a row as Reduce does, so that its sums have the same bits: it computes a map, adds the
results to reductions, and writes. What later passes read is kept, in shared memory as long as there is room.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ep.common.primitive.stages import Stage, stages_of, stored_in_full
from ep.cuda.compile.launch_config import pack_elements
from ep.cuda.engine.reduce.shape import Stored, stored_for
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import RowOp, Structure


@dataclass
class Reduced:
    """A reduction of a pass. read, written: values. stored: how Reduce sees the elements."""

    read: int
    written: int
    stored: Stored


@dataclass
class Pass:
    """A pass over the elements of a row.

    elements: of its packs. map: computes `map.writes`. reads: the values with elements that it reads, of others.
    """

    elements: int
    map: Stage | None = None
    reductions: list[Reduced] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)

    @property
    def makes(self) -> tuple[int, ...]:
        """The values that it computes elements of."""
        return self.map.writes if self.map else ()


class RowProgram:
    """What is done with a row, in order.

    structure: stored in full. reduced: of its values, which have one element a row.
    parts: passes, and maps of what is one number a row.
    """

    def __init__(self, structure: Structure) -> None:
        self.structure = stored_in_full(structure)
        self.reduced = self.structure.are_reduced()
        self.parts: list[Pass | Stage] = []
        stages = stages_of(self.structure)
        sums = [self._reduction(stage) for stage in stages if stage.op is not None]
        usual = _elements_of(sums[0])
        for stage in stages:
            if stage.op is not None:
                self._reduce(self._reduction(stage))
            elif stage.reduced:
                self.parts.append(stage)
            else:
                self.parts.append(Pass(usual, stage))
        for part in self.passes:
            reads = {reduction.read for reduction in part.reductions}
            reads |= set(part.map.reads) if part.map else set()
            part.reads = {one for one in reads if not self.reduced[one]}.difference(part.makes)

    @property
    def passes(self) -> list[Pass]:
        """Those of all parts."""
        return [part for part in self.parts if isinstance(part, Pass)]

    @property
    def widths(self) -> tuple[int, ...]:
        """The different numbers of elements of packs: one, unless what is reduced has several types."""
        return tuple(dict.fromkeys(part.elements for part in self.passes))

    def read_in(self, value: int) -> list[int]:
        """The numbers of the passes that read a value which they do not compute."""
        return [number for number, part in enumerate(self.passes) if value in part.reads]

    def made_in(self, value: int) -> int:
        """The number of the pass that computes a value with elements."""
        (number,) = (number for number, part in enumerate(self.passes) if value in part.makes)
        return number

    def is_computed(self, value: int) -> bool:
        """Whether a value is computed, and has elements."""
        return not self.reduced[value] and value >= len(self.structure.sources)

    def _reduction(self, stage: Stage) -> Reduced:
        (read,), (written,) = stage.reads, stage.writes
        assert isinstance(stage.op, ReduceOp)
        return Reduced(read, written, stored_for(stage.op, self.structure.data_type(read)))

    def _reduce(self, reduction: Reduced) -> None:
        """Add a reduction to the pass before, where that goes over elements as the reduction does."""
        last = self.parts[-1] if self.parts else None
        if isinstance(last, Pass) and not last.reductions:
            last.elements = _elements_of(reduction)
        if not isinstance(last, Pass) or last.elements != _elements_of(reduction):
            last = Pass(_elements_of(reduction))
            self.parts.append(last)
        last.reductions.append(reduction)


def _elements_of(reduction: Reduced) -> int:
    """The elements of the packs in which Reduce goes over a row."""
    return pack_elements(reduction.stored.loaded)


def has_row_kernel(structure: Structure) -> bool:
    """Whether a kernel computes all rows of a structure: one that reduces, and neither softmaxes nor complex sums.

    Those have their own ways to share a row among threads.
    """
    rows = [step for step in structure.steps if isinstance(step.op, ReduceOp | RowOp)]
    types = [structure.data_type(step.operands[0]) for step in rows]
    return bool(rows) and not any(
        isinstance(step.op, RowOp) or stored_for(step.op, data_type).in_parts  # type: ignore[arg-type]
        for step, data_type in zip(rows, types, strict=True)
    )
