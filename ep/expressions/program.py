"""The program of a trace: steps that are run with new arrays and numbers at each call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ep.common.notice import Wait
from ep.common.progress import Progress
from ep.expressions.foreign import ForeignStep
from ep.expressions.lowering import Lowering
from ep.expressions.schedule import Schedule
from ep.expressions.trace import Node, Trace
from ep.include.arrays import Array, Arrays
from ep.include.errors import ArgumentError
from ep.ops.declare.function import FUNCTIONS
from ep.ops.declare.operator import Operator
from ep.run.explanation import Explanation
from ep.run.plan import Plan


class Program:
    """The steps of a trace, ready to run. borrowed: the results in the memory of inputs. lowered: the present plan."""

    def __init__(
        self, trace: Trace, results: Sequence[int], round_each: bool = False, *, has_memory: bool = False
    ) -> None:
        """results: the positions of the values that `run` returns. has_memory: whether others are in an arena."""
        self.schedule = Schedule(trace, results, round_each)
        self.results = list(results)
        # results of which others are views must not change before the end
        self._viewed = {one for group in self.schedule.groups if self.schedule.is_view(group) for one in group.sources}
        borrowed: set[int] = set()  # values in the memory of inputs
        for node in trace.nodes:
            is_given = not node.inputs and node.constant is None
            if node.operator is None and (is_given or borrowed.issuperset(node.inputs or (-1,))):
                borrowed.add(node.position)
        self.on_device = isinstance(trace.base, Arrays)
        constants = {node.position for node in trace.nodes if node.constant is not None}
        self.numbers = constants | {*trace.sizes, *trace.numbers}
        self.borrowed = [one for one in self.results if one in borrowed - self.numbers]
        groups = enumerate(self.schedule.groups)
        self._written_by = {one: k for k, group in groups if group.structure for one in group.results}
        self.has_memory = has_memory
        self._trace, self._has_run = trace, False
        self.lowered = Lowering(self, trace)

    def explain(self, names: Mapping[int, str]) -> Explanation:
        """Return the explanation of the plan, as text and for a drawing. names: those of inputs, by position."""
        return self.renewed().explain(names)

    def run(self, base: Any, given: Any, into: Mapping[int, tuple[str, Array]]) -> list[Array]:
        """Compute with the inputs, a mapping of positions to them; return the results. Without `into`, a sequence of
        the inputs may be given, if their positions are the first ones.

        base: the Operands of the operands. into: for positions of results, the name of an array and the array itself.
        Raises TypeError or ValueError for arrays that cannot be written, before anything is.
        """
        if not into:
            results = self.computed(base, given)
            return [base.delivered(one, None) for one in results] if self.on_device else results
        targets = self._targets(base, into)
        results = self.computed(base, given, self._checked(base, given, into, targets))
        values = dict(zip(self.results, results, strict=True))
        if self.borrowed:
            self._take_apart(base, values, targets)
        return [base.delivered(values[one], into[one][1] if one in into else None) for one in self.results]

    def writes_all(self, into: Mapping[int, int]) -> bool:
        """Return whether kernels write all results where they are wanted: in the arrays of inputs.

        into: by the position of a result, that of an input. No other inputs overlap these.
        """
        return into.keys() == {*self.results} and all(
            one in self._written_by and one not in self._viewed and self._may_write(one, source)
            for one, source in into.items()
        )

    def calls(self) -> Iterator[tuple[Node, Sequence[Node]]]:
        """Yield the calls of operators that it consists of, each as its first result and its operands. It has those of
        other devices, and of each step of a recurrence."""
        nodes = self._trace.nodes
        for node in self._trace.needed(self.results):
            operator: Any = node.operator
            if isinstance(operator, Operator) and not node.result:
                yield node, [nodes[one] for one in node.inputs]
            elif operator is not None and not node.result:
                yield from operator.calls()

    @property
    def holds(self) -> Mapping[Any, int]:
        """The bytes of its constants, as for `BoundedCache`."""
        found = {id(one): one.size * one.dtype.itemsize for one in self.lowered.constants}
        operators: set[Any] = {node.operator for node in self._trace.nodes}
        for one in operators:
            if isinstance(one, ForeignStep):
                found.update(one.holds)
        return found

    @property
    def plan(self) -> Plan:
        """The steps, with the kernels that are registered now."""
        return self.renewed().plan

    @property
    def num_launches(self) -> int:
        """The number of launches of a run."""
        return self.renewed().num_launches

    def computed(
        self,
        base: Any,
        given: Any,
        direct: Any = (),
        lowered: Lowering | None = None,
        values: Sequence[Array] = (),
        launched: Callable[[], None] | None = None,
    ) -> list[Array]:
        """Return the results. The first call counts its launches for the user, if it takes long.

        direct: arrays for results, by position, which kernels may write. lowered: the present plan. values: the arrays
        of its memory, if it has any.
        """
        lowered = lowered or self.renewed()
        loop = lowered.loop(tuple(direct))
        arrays = [*map(given.__getitem__, lowered.inputs), *values, *map(direct.__getitem__, direct)]
        if self._has_run:
            found = loop(base, arrays, (), launched)
        else:
            with Wait() as wait:
                self._has_run = True
                if launched is None and wait is not None and wait.is_heard:
                    progress = Progress(wait.tell)
                    progress.expect(lowered.num_launches)
                    launched = progress.step
                if self.on_device and lowered.is_repeatable:
                    base.compile_ahead(lambda other: loop.launches(other, arrays))
                found = loop(base, arrays, (), launched)
        return [*map(found.__getitem__, loop.returned)]

    def renewed(self) -> Lowering:
        """Return the plan, which is made again if other kernels have been registered meanwhile."""
        lowered = self.lowered
        for operator, chosen in lowered.chosen.items():
            if operator.chosen is not chosen:
                lowered = self.lowered = Lowering(self, self._trace)
                break
        return lowered

    def value_of(self, error: BaseException) -> int:
        """Return a value whose computation raised an error, as far as is known; -1 if no launch did."""
        group = self.lowered.group_of(error)
        if group < 0:
            return -1
        first, *others = self.schedule.groups[group].values
        gathers = [one for one in (first, *others) if self.schedule.is_gather(one)]
        return gathers[0] if gathers and isinstance(error, IndexError) else first

    def check(self, base: Any, given: Mapping[int, Any], into: Mapping[int, tuple[str, Array]]) -> None:
        """Raise the errors of `run` for arrays that cannot be written."""
        self._checked(base, given, into, self._targets(base, into))

    def _targets(self, base: Any, into: Mapping[int, tuple[str, Array]]) -> dict[int, Array]:
        """Return the arrays for results, in the form that kernels write; raises an error if they are unsuitable."""
        if not self.on_device:
            name, _ = next(iter(into.values()))
            raise TypeError(f"{name} is given; operators on {base.place} make tensors of their own")
        return {one: self.target(base, one, *each) for one, each in into.items()}

    def target(self, base: Any, result: int, name: str, array: Array) -> Array:
        """Return the array for a result, in the form that kernels write; raises an error if it is unsuitable."""
        node = self.schedule.nodes[result]
        try:
            return base.target(node.shape, node.dtype, array)
        except ArgumentError as error:
            error.rename({"out": name})
            raise

    def _may_write(self, result: int, source: int) -> bool:
        """Return whether a kernel may write a result over the source: it is the last reader, element by element."""
        if result not in self._written_by or source in self._viewed:
            return False
        step = self._written_by[result]
        group = self.schedule.groups[step]
        if self.schedule.is_pooled(result) or result in group.columns:
            return False
        for value in group.values:
            if (value == group.product or self.schedule.is_gather(value)) and source in self.schedule.nodes[
                value
            ].inputs:
                return False
        as_reduced = {value in group.reduced for value in group.values if source in self.schedule.nodes[value].inputs}
        return self.schedule.last_read.get(source, -1) <= step and as_reduced <= {result in group.reduced}

    def _take_apart(self, base: Any, values: dict[int, Any], targets: Mapping[int, Array]) -> None:
        """Copy the results in memory that other results are about to overwrite."""
        for one in self.borrowed:
            value = values[one]
            if any(base.may_share_memory(value, array) and other != one for other, array in targets.items()):
                values[one] = FUNCTIONS["identity"](value)

    def _checked(
        self,
        base: Any,
        given: Mapping[int, Any],
        into: Mapping[int, tuple[str, Array]],
        targets: Mapping[int, Array | None],
    ) -> dict[int, Array]:
        """Return the arrays that kernels write directly; the others are filled by copies at the end."""
        direct, arrays = {}, list(targets.items())
        for position, (one, array) in enumerate(arrays):
            name, is_direct = into[one][0], one in self._written_by and one not in self._viewed
            is_direct = is_direct and one not in self.schedule.groups[self._written_by[one]].columns
            for before, other in arrays[:position]:
                if base.may_share_memory(array, other):
                    raise ValueError(f"{name} overlaps {into[before][0]}, which is written too")
            for source, other in given.items():
                if source in self.numbers or not (array is other or base.may_share_memory(array, other)):
                    continue
                if not (array is other or base.is_same(array, other)):
                    raise ValueError(f"{name} overlaps an array that is read, and is not the same elements in order")
                is_direct = is_direct and self._may_write(one, source)
            if is_direct:
                direct[one] = array
        return direct
