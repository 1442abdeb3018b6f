"""The program of a trace: steps that are run with new arrays and numbers at each call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ep.common.source import function_of
from ep.expressions.grouping import Group
from ep.expressions.schedule import Schedule
from ep.expressions.trace import Node, Trace
from ep.include.arrays import UNKNOWN, Array, Arrays
from ep.include.errors import ArgumentError
from ep.include.primitive import ExpressionFactory, RequirePrimitive
from ep.ops.declare.function import FUNCTIONS


class _Text:
    """Writes the function that runs a program: one line for each launch, so that a call costs little beside them."""

    def __init__(self, program: Program, trace: Trace) -> None:
        self._schedule, self._nodes = program.schedule, program.schedule.nodes
        self._on_device, self._numbers = program.on_device, program.numbers
        base: Any = trace.base
        self._names: dict[str, Any] = {"number": _number_as_array}
        self._constants: set[int] = set()
        has_kernels = any(group.structure is not None for group in self._schedule.groups)
        self._lines = ["stream, empty = base.stream, base.empty"] if has_kernels else []
        for node in self._nodes:
            if node.constant is not None:
                number = np.frombuffer(node.constant, node.data_type.dtype).reshape(())
                self._add_constant(node.position, base.number(number))
        for position, size in trace.sizes.items():
            self._add_constant(position, base.number(size))
        computed = {one for group in self._schedule.groups for one in group.values}
        read = {one for group in self._schedule.groups for one in group.sources} | {*self._schedule.results}
        self._lines += [f"v{one} = given[{one}]" for one in sorted(read - computed - self._constants)]
        for k, group in enumerate(self._schedule.groups):
            (self._add_operator if group.structure is None else self._add_kernel)(base, k, group)
            # the memory of others is free for what follows
            last = [one for one in group.sources if self._schedule.last_read[one] == k and one not in self._constants]
            self._lines += [f"del {', '.join(map(self._value, last))}"] if last else []

    def body(self, results: Sequence[int]) -> Callable[..., list[Array]]:
        """Return the function body(base, given, direct) that returns results; direct: where to write some of them."""
        lines = [*self._lines, f"return [{', '.join(map(self._array, results))}]"]
        text = "\n    ".join(["def body(base, given, direct):", *lines])
        return function_of(text, "body", __name__, self._names)

    def _add_constant(self, position: int, number: Any) -> None:
        self._names[f"c{position}"] = number
        self._constants.add(position)

    def _value(self, position: int) -> str:
        return f"c{position}" if position in self._constants else f"v{position}"

    def _array(self, position: int) -> str:
        """Return a value as an array, if it may be a number in the form that kernels take."""
        value = self._value(position)
        return f"number(base, {value})" if self._on_device and position in self._numbers else value

    def _buffer(self, position: int) -> str:
        """Return a value as operators take it."""
        is_buffer = self._nodes[position].inputs and position not in self._schedule.views
        return self._value(position) if is_buffer else f'base.as_buffer({self._array(position)}, "x")'

    def _add_kernel(self, base: Any, k: int, group: Group) -> None:
        primitive = RequirePrimitive(ExpressionFactory, base.device_type, group.structure)
        self._names[f"launch{k}"] = primitive.Launch
        for one in group.results:
            node = self._nodes[one]
            self._names |= {f"s{one}": node.shape, f"d{one}": node.data_type.dtype}
            self._lines.append(f"v{one} = direct[{one}] if {one} in direct else empty(s{one}, d{one})")
        operands = [(one, group.reduced_shape if one in group.reduced else None) for one in group.results]
        shown = []
        for one, shape in (*operands, *group.reads):
            in_shape = "" if shape in (None, self._nodes[one].shape) else f".reshape({shape})"
            shown.append(self._value(one) + in_shape)
        written, read = (", ".join(some) for some in (shown[: len(operands)], shown[len(operands) :]))
        self._lines.append(f"launch{k}(stream, [{written}], [{read}])")

    def _add_operator(self, base: Any, k: int, group: Group) -> None:
        node = self._nodes[group.values[0]]
        view = self._schedule.strided.get(node.position)
        if view is not None:
            self._names[f"w{k}"] = view
            self._lines.append(f"v{node.position} = base.view({self._value(node.inputs[0])}, *w{k})")
        elif node.operator is None:
            self._lines.append(f"v{node.position} = {self._buffer(node.inputs[0])}.reshape({node.shape})")
        else:
            numbers = [self._nodes[one].result for one in group.values]
            self._names[f"compute{k}"] = _computing(node, numbers, self._on_device)
            inputs = ", ".join(map(self._buffer, node.inputs))
            results = ", ".join(map(self._value, group.values))
            self._lines.append(f"[{results}] = compute{k}(base, [{inputs}])")


def _number_as_array(base: Any, value: Any) -> Array:
    return base.filled(np.asarray(value))


def _computing(node: Node, written: Sequence[int], on_device: bool) -> Callable[[Any, list[Array]], Sequence[Array]]:
    """Return what runs an operator on arrays; it returns the results that there are to be, by number."""
    operator: Any = node.operator
    attributes = node.attributes
    chosen: Any = None  # the kernels that the operator had
    prepared: Any = None  # what computes with them
    find: Any = None  # what does it at once, where there is such a thing

    def compute(base: Any, inputs: list[Array]) -> Sequence[Array]:
        nonlocal chosen, prepared, find
        if not on_device:
            results = base.compute(operator, inputs, attributes, None)
            return [results[one] for one in written]
        if chosen is not operator.chosen:
            prepared = operator.prepare(base.device_type, inputs, attributes)
            chosen, find = operator.chosen, prepared.finding(base, inputs)
        result = UNKNOWN if find is None else find(*inputs)
        if result is not UNKNOWN:
            return (result,)
        results = [base.empty(shape, prepared.dtype) for shape in prepared.shapes]
        prepared.launches(base, inputs, results)
        return [results[one] for one in written]

    return compute


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
        self.on_device = isinstance(trace.base, Arrays)
        constants = {node.position for node in trace.nodes if node.constant is not None}
        self.numbers = constants | {*trace.sizes, *trace.numbers}
        groups = enumerate(self.schedule.groups)
        self._written_by = {one: k for k, group in groups if group.structure for one in group.results}
        self._may_write = cache(self._kernel_may_write)
        self._body = _Text(self, trace).body(self._results)

    def run(self, base: Any, given: Mapping[int, Any], into: Mapping[int, tuple[str, Array]]) -> list[Array]:
        """Compute with what is given, by position; return the results.

        base: the operands' Operands. into: by position of a result, the name of an array and the array itself.
        Raises TypeError or ValueError for arrays that cannot be written, before anything is.
        """
        if not into:
            results = self._body(base, given, ())
            return [base.delivered(one, None) for one in results] if self.on_device else results
        targets = self._targets(base, into)
        results = self._body(base, given, self._checked(base, given, into, targets))
        values = dict(zip(self._results, results, strict=True))
        self._take_apart(base, values, targets)
        return [base.delivered(values[one], into[one][1] if one in into else None) for one in self._results]

    def _targets(self, base: Any, into: Mapping[int, tuple[str, Array]]) -> dict[int, Array]:
        """Return the arrays that results are put into, as kernels write them; raises what is wrong with them."""
        if not self.on_device:
            name, _ = next(iter(into.values()))
            raise TypeError(f"{name} is given; operators on {base.place} make tensors of their own")
        return {one: _target(base, self.schedule.nodes[one], *each) for one, each in into.items()}

    def _kernel_may_write(self, result: int, source: int) -> bool:
        """Return whether a kernel may write a result where the source is: it reads that last, element by element."""
        if result not in self._written_by or source in self._viewed:
            return False
        step = self._written_by[result]
        group = self.schedule.groups[step]
        as_reduced = {value in group.reduced for value in group.values if source in self.schedule.nodes[value].inputs}
        return self.schedule.last_read.get(source, -1) <= step and as_reduced <= {result in group.reduced}

    def _take_apart(self, base: Any, values: dict[int, Any], targets: Mapping[int, Array]) -> None:
        """Copy the results that lie in memory which other results are about to be written to."""
        for one in self._results:
            value = values[one]
            if one not in self._borrowed or one in self.numbers:
                continue
            if any(base.may_share_memory(value, array) and other != one for other, array in targets.items()):
                values[one] = FUNCTIONS["identity"](value)

    def _checked(
        self,
        base: Any,
        given: Mapping[int, Any],
        into: Mapping[int, tuple[str, Array]],
        targets: Mapping[int, Array | None],
    ) -> dict[int, Array]:
        """Return the arrays that kernels write to at once; others are copied to at the end."""
        direct, arrays = {}, list(targets.items())
        for position, (one, array) in enumerate(arrays):
            name, is_direct = into[one][0], one in self._written_by and one not in self._viewed
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


def _target(base: Any, node: Node, name: str, array: Array) -> Array:
    """Return the array that a result is put into, as kernels write it; raises what is wrong with it."""
    try:
        return base.target(node.shape, node.data_type.dtype, array)
    except ArgumentError as error:
        error.rename({"out": name})
        raise
