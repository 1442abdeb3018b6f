"""What a trace comes to: steps that are run with new arrays and numbers at each call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.expressions.grouping import Group
from ep.expressions.schedule import Schedule
from ep.expressions.trace import Node, Trace
from ep.include.arrays import UNKNOWN, Array, Arrays, Operands
from ep.include.errors import ArgumentError
from ep.include.primitive import ExpressionFactory, RequirePrimitive
from ep.ops.declare.function import FUNCTIONS


class _Step(NamedTuple):
    """One group, as it is run.

    launch: of its kernel; None where there is none.
    compute: then, what computes its values, of those that there are.
    made: the position, the shape and the dtype of each result. read_last: values that nothing reads later.
    in_shapes: of the launch's results and sources, those that it takes in another shape, by their place in it.
    """

    launch: Callable[..., None] | None
    compute: Callable[[Any, dict[int, Any]], None] | None
    made: Sequence[tuple[int, Dims, np.dtype[Any]]]
    reads: Sequence[int]
    read_last: Sequence[int]
    in_shapes: Sequence[tuple[int, Dims]]


class Program:
    """The steps of a trace, as they are run."""

    def __init__(self, trace: Trace, results: Sequence[int], round_each: bool = False) -> None:
        """results: positions of the values that `run` returns."""
        self.schedule = Schedule(trace, results, round_each)
        self._results = list(results)
        # results that others are views of must stay as they are until the end
        self._viewed = {one for group in self.schedule.groups if self.schedule.is_view(group) for one in group.sources}
        self._borrowed: set[int] = set()  # values in the memory of what is given
        for node in trace.nodes:
            is_given = not node.inputs and node.constant is None
            if node.operator is None and (is_given or self._borrowed.issuperset(node.inputs or (-1,))):
                self._borrowed.add(node.position)
        base: Any = trace.base
        self._steps = [self._step(base, k, group) for k, group in enumerate(self.schedule.groups)]
        self._constants = {
            node.position: base.number(np.frombuffer(node.constant, node.data_type.dtype).reshape(()))
            for node in trace.nodes
            if node.constant is not None
        }
        self._constants |= {position: base.number(number) for position, number in trace.sizes.items()}
        self._on_device = isinstance(base, Arrays)
        self._numbers = {*self._constants, *trace.numbers}

    def run(self, base: Any, given: Mapping[int, Any], into: Mapping[int, tuple[str, Array]]) -> list[Array]:
        """Compute with what is given, by position; return the results.

        base: the operands' Operands. into: by position of a result, the name of an array and the array itself.
        Raises TypeError or ValueError for arrays that cannot be written, before anything is.
        """
        values: dict[int, Any] = {**self._constants, **given}
        targets = self._targets(base, into) if into else {}
        direct = self._checked(base, given, into, targets) if into else {}
        for launch, compute, made, reads, read_last, in_shapes in self._steps:
            if compute is not None:
                compute(base, values)
            elif launch is not None:
                for one, shape, dtype in made:
                    values[one] = direct[one] if one in direct else base.empty(shape, dtype)
                arrays = [*map(values.__getitem__, reads)]  # quicker than a comprehension
                for place, shape in in_shapes:
                    arrays[place] = arrays[place].reshape(shape)
                launch(base.stream, arrays[: len(made)], arrays[len(made) :])
            for one in read_last:  # its memory is free for what follows
                del values[one]
        if not self._on_device:
            return [*map(values.__getitem__, self._results)]
        if into:
            self._take_apart(base, values, targets)
        return [
            base.delivered(self._buffer(base, one, values), into[one][1] if one in into else None)
            for one in self._results
        ]

    def _buffer(self, base: Any, position: int, values: Mapping[int, Any]) -> Array:
        """A value as an array, where it may be a number in the form that kernels take."""
        value, is_number = values[position], self._on_device and position in self._numbers
        return base.copy_from_host(np.asarray(value)) if is_number else value

    def _targets(self, base: Any, into: Mapping[int, tuple[str, Array]]) -> dict[int, Array]:
        """The arrays that results are put into, as kernels write them; raises what is wrong with them."""
        if not self._on_device:
            name, _ = next(iter(into.values()))
            raise TypeError(f"{name} is given; operators on {base.place} make tensors of their own")
        return {one: _target(base, self.schedule.nodes[one], *each) for one, each in into.items()}

    def _step(self, base: Any, k: int, group: Group) -> _Step:
        """What `run` does for a group, the k-th."""
        nodes = self.schedule.nodes
        read_last = [one for one in group.sources if self.schedule.last_read[one] == k]
        if group.structure is None:
            return _Step(None, self._computing(group), [], [], read_last, [])
        primitive = RequirePrimitive(ExpressionFactory, base.device_type, group.structure)
        made = [(one, nodes[one].shape, nodes[one].data_type.dtype) for one in group.results]
        operands = [(one, group.reduced_shape if one in group.reduced else None) for one in group.results]
        operands += group.reads
        in_shapes = [
            (place, shape) for place, (one, shape) in enumerate(operands) if shape not in (None, nodes[one].shape)
        ]
        return _Step(primitive.Launch, None, made, [one for one, _ in operands], read_last, in_shapes)

    def _may_write(self, step: int, result: int, source: int) -> bool:
        """Whether a group's kernel may write a result where the source is: it reads that last, element by element."""
        group = self.schedule.groups[step]
        as_reduced = {value in group.reduced for value in group.values if source in self.schedule.nodes[value].inputs}
        return self.schedule.last_read.get(source, -1) <= step and as_reduced <= {result in group.reduced}

    def _take_apart(self, base: Any, values: dict[int, Any], targets: Mapping[int, Array]) -> None:
        """Copy the results that lie in memory which other results are about to be written to."""
        for one in self._results:
            value = values[one]
            if one not in self._borrowed or one in self._numbers:
                continue
            if any(base.may_share_memory(value, array) and other != one for other, array in targets.items()):
                values[one] = FUNCTIONS["identity"](value)

    def _computing(self, group: Group) -> Callable[[Any, dict[int, Any]], None]:
        """What computes a group without a kernel, with values by position, and puts its own there."""
        nodes = self.schedule.nodes
        node = nodes[group.values[0]]
        (source, *_), position, shape = node.inputs, node.position, node.shape
        view = self.schedule.strided.get(position)
        if view is not None:

            def take_view(base: Arrays, values: dict[int, Any]) -> None:
                values[position] = base.view(values[source], *view)

            return take_view
        if node.operator is None:

            def reshape(base: Operands, values: dict[int, Any]) -> None:
                values[position] = base.as_buffer(self._buffer(base, source, values), "x").reshape(shape)

            return reshape
        operator, attributes, inputs = node.operator, node.attributes, node.inputs
        written = [(one, nodes[one].result) for one in group.values]
        chosen: Any = None  # the kernels that the operator had
        prepared: Any = None  # what computes with them
        find: Any = None  # what does it at once, where there is such a thing
        is_buffer = [bool(nodes[one].inputs) and one not in self.schedule.views for one in inputs]

        def compute(base: Any, values: dict[int, Any]) -> None:
            nonlocal chosen, prepared, find
            read = [
                values[one] if is_ready else base.as_buffer(self._buffer(base, one, values), "x")
                for one, is_ready in zip(inputs, is_buffer, strict=True)
            ]
            if not self._on_device:
                results = base.compute(operator, read, attributes, None)
            else:
                if chosen is not operator.chosen:
                    prepared = operator.prepare(base.device_type, read, attributes)
                    chosen, find = operator.chosen, prepared.finding(base, read)
                result = UNKNOWN if find is None else find(*read)
                if result is not UNKNOWN:
                    values[position] = result
                    return
                results = [base.empty(shape, prepared.dtype) for shape in prepared.shapes]
                prepared.launches(base, read, results)
            for one, result in written:
                values[one] = results[result]

        return compute

    def _checked(
        self,
        base: Any,
        given: Mapping[int, Any],
        into: Mapping[int, tuple[str, Array]],
        targets: Mapping[int, Array | None],
    ) -> dict[int, Array]:
        """The arrays that kernels write to at once; others are copied to at the end."""
        written_by = {
            one: k for k, group in enumerate(self.schedule.groups) if group.structure for one in group.results
        }
        direct, arrays = {}, list(targets.items())
        for position, (one, array) in enumerate(arrays):
            (name, _), step = into[one], written_by.get(one)
            for before, other in arrays[:position]:
                if base.may_share_memory(array, other):
                    raise ValueError(f"{name} overlaps {into[before][0]}, which is written too")
            for source, other in given.items():
                if source in self._numbers or not base.may_share_memory(array, other):
                    continue
                if not base.is_same(array, other):
                    raise ValueError(f"{name} overlaps an array that is read, and is not the same elements in order")
                if step is not None and (source in self._viewed or not self._may_write(step, one, source)):
                    step = None
            if step is not None and one not in self._viewed:
                direct[one] = array
        return direct


def _target(base: Any, node: Node, name: str, array: Array) -> Array:
    """The array that a result is put into, as kernels write it; raises what is wrong with it."""
    try:
        return base.target(node.shape, node.data_type.dtype, array)
    except ArgumentError as error:
        error.rename({"out": name})
        raise
