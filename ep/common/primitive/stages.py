"""The stages of an expression with rows: maps, and between them the ops that read whole rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from ep.include.data_type import DataType
from ep.include.number_kind import FLOATS
from ep.include.primitive.op_definition import Cost
from ep.include.primitive.op_table import OPS
from ep.include.primitive.reduce_op import SUMS, TRUTHS, ReduceOp
from ep.include.primitive.structure import (
    ChoiceOp,
    ColumnOp,
    RowOp,
    SegmentSum,
    Step,
    Structure,
    reads_whole_rows,
)
from ep.include.primitive.unary_op import UnaryOp

_MOST_AGAIN: Final = 4  # steps that are computed again instead of read from memory
_MOST_SUMS: Final = 3  # of one loop: what they carry stays in registers
_MOST_TOGETHER: Final = 12  # steps of a loop with several sums


class Stage(NamedTuple):
    """A part of a structure that is computed by one pass over rows.

    reads, writes: values of the whole structure.
    map: the structure of a map; for an op that reads whole rows, None or the map that computes the elements it reads.
    op: None for a map; else the op that reads whole rows. The last value that a SegmentSum reads are the segments.
    reduced: whether a map computes one element per row.
    sums: how many of the values that are written first are sums of rows or columns, by the op, of as many results of
        the map. It computes the others for later stages, or results.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    map: Structure | None
    op: ReduceOp | RowOp | ColumnOp | ChoiceOp | SegmentSum | None = None
    reduced: bool = False
    sums: int = 0


def identity_of(data_type: DataType) -> Structure:
    """Return the structure of a copy."""
    return Structure((data_type,), (), (Step(UnaryOp.kIdentity, (0,), data_type),), (1,))


def stored_in_full(structure: Structure) -> Structure:
    """Return the same structure with unrounded steps in float32; results are cast from it."""
    num_read = len(structure.sources) + len(structure.constants)
    types = [structure.data_type(value) for value in range(num_read)]
    numbers, steps = list(range(num_read)), list[Step]()

    def add(step: Step) -> int:
        steps.append(step)
        types.append(step.data_type)
        return len(types) - 1

    for step in structure.steps:
        is_half = step.data_type in FLOATS and step.data_type.itemsize == 2
        adds = isinstance(step.op, SegmentSum)  # in float32, and rounds at the end
        data_type = DataType.kFloat if is_half and (adds or not step.rounded) else step.data_type
        operands = tuple(numbers[one] for one in step.operands)
        if isinstance(step.op, ReduceOp | RowOp | SegmentSum):
            elements, others = operands if isinstance(step.op, RowOp) else operands[:1], operands[1:]
            wanted = types[elements[0]] if step.op in TRUTHS else data_type
            cast = [one if types[one] is wanted else add(Step(UnaryOp.kCast, (one,), wanted)) for one in elements]
            operands = (*cast, *(() if isinstance(step.op, RowOp) else others))
        if step.op is ChoiceOp.kElement:
            data_type = types[operands[0]]
        number = add(Step(step.op, operands, data_type, step.attributes))
        numbers.append(
            add(Step(UnaryOp.kCast, (number,), step.data_type)) if adds and is_half and step.rounded else number
        )
    results = []
    for value in structure.results:
        number, data_type = numbers[value], structure.data_type(value)
        results.append(number if types[number] is data_type else add(Step(UnaryOp.kCast, (number,), data_type)))
    return structure._replace(steps=tuple(steps), results=tuple(results))


def stages_of(
    structure: Structure, by_rows: bool = True, sums_compute: bool = False, columns_compute: bool = False
) -> list[Stage]:
    """Return the stages, in the order of computation, of a structure that is stored in full.

    by_rows: whether maps write the elements that are reduced; otherwise each reduction computes them as it reads them.
    sums_compute: whether, by rows, sums of float32 compute their elements as they read them if that takes little time.
    columns_compute: the same for sums of columns.
    """
    return _Stages(structure, by_rows, sums_compute, columns_compute).made()


class _Stages:
    """The division of a structure into stages.

    depths: for each value, the longest chain of ops before it that read whole rows.
    readers: for each value, the steps that read it.
    """

    def __init__(self, structure: Structure, by_rows: bool, sums_compute: bool, columns_compute: bool) -> None:
        self.structure, self.reduced, self.by_rows = structure, structure.are_reduced(), by_rows
        self.sums_compute = sums_compute
        self.first = len(structure.sources) + len(structure.constants)
        self.depths = [0] * self.first
        for step in structure.steps:
            of_rows = reads_whole_rows(step)
            self.depths.append(max((self.depths[one] for one in step.operands), default=0) + of_rows)
        steps = range(self.first, len(self.depths))
        self.maps = {one for one in steps if not reads_whole_rows(self._step(one))}
        self.kept = {*structure.results}  # the values in memory
        columns = sorted(structure.column_sums) if by_rows and columns_compute else []
        self.columns = [one for one in columns if structure.data_type(one) is DataType.kFloat]  # of computed elements
        self.readers: list[set[int]] = [set() for _ in self.depths]
        for one in steps:
            writes_input = one not in self.maps and one not in self.columns and not self._computes(one)
            for read in self._step(one).operands:
                if one not in self.columns:  # those compute what they read again
                    self.readers[read].add(one)
                crosses = (self.reduced[one], self.depths[one]) != (self.reduced[read], self.depths[read])
                if writes_input or (crosses and self.reduced[read]):
                    self.kept.add(read)
        for one in filter(self._computes, steps):
            self._keep_for(one)

    def _step(self, value: int) -> Step:
        return self.structure.steps[value - self.first]

    def made(self) -> list[Stage]:
        stages, sums = list[Stage](), list[int]()  # sums: those of the next depth that compute their elements
        for depth in range(max(self.depths), -1, -1):  # backwards: a stage determines the values that are kept
            here = [one for one in range(self.first, len(self.depths)) if self.depths[one] == depth]
            for reduced in (False, True) if self.by_rows else (True,):
                maps = [one for one in here if one in self.maps and self.reduced[one] is reduced]
                writes = tuple(one for one in maps if one in self.kept)
                columns = [one for one in self.columns if self.depths[one] == depth]
                if columns and not reduced:
                    if (together := self._adding(columns, () if sums else writes, depth)) and not sums:
                        stages.append(together)
                        continue
                    stages += [together] if together else map(self._of_rows, reversed(columns))
                if not reduced:
                    while len(sums) > _MOST_SUMS and (together := self._together(sums[-_MOST_SUMS:], (), depth)):
                        stages.append(together)
                        sums = sums[:-_MOST_SUMS]
                    writes = tuple(one for one in maps if one in self.kept)
                    if together := self._together(sums, writes, depth):
                        stages.append(together)
                        continue
                    stages += [self._computed(self._of_rows(one)) for one in reversed(sums)]
                    writes = tuple(one for one in maps if one in self.kept)
                if writes:
                    stages.append(self._map(self._inside(writes, depth, reduced), writes, reduced))
            rows = [one for one in here if one not in self.maps and one not in self.columns]
            sums = [one for one in rows if self._computes(one)]
            others = [self._of_rows(one) for one in reversed(rows) if one not in sums]
            stages += others if self.by_rows else map(self._computed, others)
        return stages[::-1]

    def _of_rows(self, value: int) -> Stage:
        """Return the stage of a step that reads whole rows."""
        op = self._step(value).op
        assert isinstance(op, ReduceOp | RowOp | ColumnOp | ChoiceOp | SegmentSum)
        return Stage(self._step(value).operands, (value,), None, op)

    def _adding(self, columns: Sequence[int], writes: tuple[int, ...], depth: int) -> Stage | None:
        """Return a stage that computes what it adds to sums of columns, and writes other elements in the same loop.

        If that takes long, return None, and keep what the sums read.
        """
        read = {self._step(one).operands[0] for one in columns} & self.maps
        found = self._in_one_loop(columns, writes, depth) if all(map(self._is_cheap, read - self.kept)) else None
        self.kept |= set() if found else read
        return found

    def _together(self, sums: Sequence[int], writes: tuple[int, ...], depth: int) -> Stage | None:
        """Return a stage that computes sums and writes other elements in one loop; None if there are no two of these,
        or they take long."""
        return self._in_one_loop(sums, writes, depth) if len(sums) + bool(writes) > 1 else None

    def _in_one_loop(self, sums: Sequence[int], writes: tuple[int, ...], depth: int) -> Stage | None:
        if not 0 < len(sums) <= _MOST_SUMS:
            return None
        op, read = self._step(sums[0]).op, [self._step(one).operands[0] for one in sums]
        computed = self.maps.intersection(read) - (self.kept if op is ColumnOp.kSum else set())
        inside = self._inside({*writes, *computed}, depth, False)
        steps = [self._step(one) for one in inside]
        values = {*inside, *read, *(one for step in steps for one in step.operands)}
        is_simple = all(step.op in OPS and OPS[step.op].cost is Cost.LIGHT for step in steps)  # type: ignore[index]
        is_simple &= all(self.structure.data_type(one) is DataType.kFloat for one in values)
        if not is_simple or len(steps) > _MOST_TOGETHER or any(self._step(one).op is not op for one in sums):
            return None
        assert isinstance(op, ReduceOp | ColumnOp)
        part = self._map(inside, (*read, *writes), False)
        return part._replace(writes=(*sums, *writes), op=op, sums=len(sums))

    def _computes(self, value: int) -> bool:
        """Return whether a step is a sum of a row that may compute its elements as it reads them."""
        step = self._step(value)
        if not self.by_rows or not self.sums_compute or step.op not in SUMS:
            return False
        return self.structure.data_type(step.operands[0]) is DataType.kFloat

    def _computed(self, stage: Stage) -> Stage:
        """Return a reduction with the map that computes its elements."""
        read, *others = stage.reads
        if read not in self.maps:
            return stage
        if self.by_rows and read in self.kept:
            return stage
        part = self._map(self._inside([read], -1 if self.by_rows else 0, False), (read,), False)
        return stage._replace(reads=(*part.reads, *others), map=part.map, sums=int(self.by_rows))

    def _keep_for(self, sum_: int) -> None:
        """Keep the elements that a sum reads if computing them takes long, and what they are computed from if shared.

        What other steps read, too, and what is computed from several rows, takes longer to compute again than to read:
        unless a loop that adds to columns reads all of these rows, but one at most.
        """
        (value,) = self._step(sum_).operands
        if value not in self.maps:
            return
        cone, _ = self._cone(value)
        added = {self._step(one).operands[0] for one in self.columns}
        later = added.union(*(self._cone(one)[1] for one in added & self.maps))
        for one in sorted(cone):
            if not self.readers[one] <= {*cone, sum_} and len(self._cone(one)[1] - later) > 1:
                self.kept.add(one)
        if not self._is_cheap(value):
            self.kept.add(value)

    def _cone(self, value: int) -> tuple[set[int], set[int]]:
        """Return the steps that compute a value from kept values and sources, and the rows that they read."""
        cone, read, todo = {value}, set[int](), [value]
        while todo:
            for one in self._step(todo.pop()).operands:
                if one not in self.maps or one in self.kept or self.reduced[one]:
                    read |= set() if self.reduced[one] else {one}
                elif one not in cone:
                    cone.add(one)
                    todo.append(one)
        return cone, read

    def _inside(self, writes: Collection[int], depth: int, reduced: bool) -> list[int]:
        """Return the steps with which a map computes the values that it writes; other values that it reads are kept."""
        inside, todo = set(writes), list(writes)
        while todo:
            for read in self._step(todo.pop()).operands:
                if read in inside or read not in self.maps or self.reduced[read] is not reduced:
                    continue
                if self.depths[read] == depth or (read not in self.kept and self._is_cheap(read)):
                    inside.add(read)
                    todo.append(read)
                else:
                    self.kept.add(read)
        return sorted(inside)

    def _is_cheap(self, value: int) -> bool:
        """Return whether computing a value again, from kept values, takes less time than writing and reading it."""
        ops = [self._step(one).op for one in self._cone(value)[0]]
        light = all(op not in OPS or OPS[op].cost is Cost.LIGHT for op in ops)  # type: ignore[index]
        return light and len(ops) <= _MOST_AGAIN

    def _map(self, inside: Sequence[int], writes: tuple[int, ...], reduced: bool) -> Stage:
        structure, num_sources = self.structure, len(self.structure.sources)
        known = set(inside)
        operands = (one for step in inside for one in self._step(step).operands)
        read = dict.fromkeys(one for one in (*operands, *writes) if one not in known)
        constants = [one for one in read if num_sources <= one < self.first]
        reads = tuple(one for one in read if one not in constants)
        numbers = {one: place for place, one in enumerate((*reads, *constants, *inside))}
        steps = [self._step(one) for one in inside]
        part = Structure(
            tuple(map(structure.data_type, reads)),
            tuple(structure.constants[one - num_sources] for one in constants),
            tuple(step._replace(operands=tuple(numbers[one] for one in step.operands)) for step in steps),
            tuple(numbers[one] for one in writes),
        )
        return Stage(reads, writes, part, reduced=reduced)
