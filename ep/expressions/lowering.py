"""The plan of a program: the launches of its kernels and operators, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from ep.expressions.group import Group, Indices, Range, Strided
from ep.expressions.memory import Memory
from ep.expressions.trace import Node, Trace
from ep.include.arrays import Array, Placeholder
from ep.include.primitive import ExpressionFactory, RequirePrimitive
from ep.ops.declare.prepared import Prepared
from ep.run.plan import Plan
from ep.run.routine import Routine
from ep.run.steps import VALUES, Call, Check, Converted, Launch, Step, Temporary, Value, View

_WHOLE: Final = Strided(None, None, None)


class Lowering:
    """Makes the plan of a program, with the kernels that are registered now.

    inputs: the positions of the arrays and numbers that it reads, in the order of the plan's operands. steps: with the
    numbers of their groups. renamed: for each group, the names of the operator for arguments of launches. chosen: the
    kernels that operators had. is_repeatable: whether all launches depend on shapes and attributes only. returned: the
    results of the plan, values or constants. constants: the arrays that are in the same memory in each call. changing:
    those among them whose elements may change.
    """

    def __init__(self, program: Any, trace: Trace, memory: Memory | None) -> None:
        self._schedule, self._nodes = program.schedule, program.schedule.nodes
        self._on_device, self._numbers = program.on_device, program.numbers
        self._are_buffers = trace.gives_buffers
        self._base: Any = trace.base
        self._values: dict[int, Any] = {}  # by position: values, and constants
        self._placed = None if memory is None else dict[Value, None]()
        self._own, self._given = set[Temporary](), dict[int, Temporary]()
        self.renamed: dict[int, Mapping[str, str]] = {}
        self.chosen: dict[Any, Any] = {}
        self._primitives: dict[Any, Any] = {}
        self._prepared: dict[Any, Prepared] = {}
        self.is_repeatable = True
        self.constants: list[Array] = []
        self.steps: list[tuple[int, Step]] = []
        self._launching = set[int]()
        base = self._base
        for node in self._nodes:
            if node.constant is not None:
                self._add_constant(node.position, base.number(np.frombuffer(node.constant, node.dtype).reshape(())))
        for position, size in trace.sizes.items():
            self._add_constant(position, base.number(size))
        groups = self._schedule.groups
        computed = {one for group in groups for one in group.values}
        read = {one for group in groups for one in group.sources} | {*self._schedule.results}
        held = trace.held | trace.changing
        for position in read & held.keys():
            self._add_constant(position, held[position])
        self.changing = [trace.changing[position] for position in read & trace.changing.keys()]
        self.inputs = sorted(read - computed - self._values.keys())
        self._values |= {one: Placeholder(k) for k, one in enumerate(self.inputs)}
        for one in () if memory is None else memory.values:
            self._values[one] = made = Temporary(self._nodes[one].shape, self._nodes[one].dtype)
            self._own.add(made)
            self._placed[made] = None  # type: ignore[index]
        for k, group in enumerate(groups):
            (self._add_operator if group.structure is None else self._add_kernel)(k, group)
        self.returned = [self._array(one) for one in program.results]

    @property
    def plan(self) -> Plan:
        """The steps."""
        return Plan(*(step for _, step in self.steps))

    def routine(self) -> Routine:
        """Return the loop that runs the plan."""
        return Routine(
            self.steps,
            len(self.inputs),
            self.returned,
            own=self._own,
            placed=None if self._placed is None else [*self._placed],
            given=self._given,
            launching=self._launching,
            on_device=self._on_device,
        )

    @property
    def derived(self) -> list[tuple[int, View]]:
        """The views of arrays in memory, in the order of their arrays behind the others: of which array each is one."""
        numbers = {one: k for k, one in enumerate(self._placed or ())}
        return [(numbers[one.source], one) for one in numbers if isinstance(one, View)]

    def _add(self, group: int, *steps: Step) -> None:
        self.steps += [(group, one) for one in steps]

    def _constant(self, array: Any) -> Any:
        if hasattr(array, "dtype") and hasattr(array, "shape"):
            self.constants.append(array)
        return array

    def _add_constant(self, position: int, number: Any) -> None:
        self._values[position] = self._constant(number)

    def _view(self, position: int, how: Any) -> Any:
        """Return a view of a value; how: a shape, or the arguments of `Arrays.view`."""
        source = self._values[position]
        if isinstance(how, Strided):
            axes = how.axes
            if how.places is None and axes is None:  # it is broadcast, not reshaped
                axes = tuple(range(len(self._nodes[position].shape)))
            made = View(source, how.shape, how.places, axes)
        elif not isinstance(source, VALUES):
            return self._constant(source.reshape(how))
        else:
            made = View(source, how)
        if self._is_placed(source):
            self._placed[made] = None  # type: ignore[index]
        return made

    def _is_placed(self, value: Any) -> bool:
        """Return whether a value is in given memory."""
        return self._placed is not None and isinstance(value, VALUES) and value in self._placed

    def _array(self, position: int) -> Any:
        """Return a value as an array, or as a number in the form that kernels accept."""
        value = self._values[position]
        return Converted(value, is_number=True) if self._on_device and position in self._numbers else value

    def _buffer(self, position: int) -> Any:
        """Return a value in the form that operators accept."""
        schedule = self._schedule  # a result may be in an array of the caller's, with strides
        is_buffer = self._nodes[position].inputs and position not in {*schedule.views, *schedule.results}
        if self._are_buffers and position not in self._numbers and position not in schedule.strided:
            is_buffer = True
        return self._values[position] if is_buffer else Converted(self._array(position))

    def _result(self, position: int) -> Any:
        """Return the array for a result of a group."""
        if position not in self._values:
            node = self._nodes[position]
            self._values[position] = made = Temporary(node.shape, node.dtype)
            self._own.add(made)
        return self._values[position]

    def _add_kernel(self, k: int, group: Group) -> None:
        # kernels of one structure and shapes, such as those of equal layers, are one primitive, with one plan
        of_kernel = group.structure, *(self._nodes[one].shape for one in (*group.results, *dict(group.reads)))
        primitive = self._primitives.get(of_kernel)
        if primitive is None:
            primitive = RequirePrimitive(ExpressionFactory, self._base.device_type, group.structure)
            self._primitives[of_kernel] = primitive
        for one in group.results:
            made = self._result(one)
            if one in self._schedule.results and not self._is_placed(made):
                self._given[one] = made
        matrices = 0 if group.product is None else 2
        written = [self._read(one, group.shape_of(one)) for one in group.results]
        read = [self._buffer(one) for one, _ in group.reads[:matrices]]
        read += [self._read(one, how) for one, how in group.reads[matrices:]]
        self._add(k, Launch(primitive, written, read))
        self._launching.add(k)

    def _read(self, position: int, how: Any) -> Any:
        """Return a value as a kernel reads or writes it."""
        if isinstance(how, Indices):
            return View(Check(self._buffer(position), how.size, how.mode), how.shape)
        if isinstance(how, Range):
            rows = np.arange(how.begin, how.end).reshape(how.shape)
            return self._constant(self._base.copy_from_host(rows))
        value = self._values[position]
        return value if how in (None, self._nodes[position].shape, _WHOLE) else self._view(position, how)

    def _add_operator(self, k: int, group: Group) -> None:
        node = self._nodes[group.values[0]]
        view = self._schedule.strided.get(node.position)
        if view is not None:
            self._values[node.position] = self._view(node.inputs[0], view)
        elif node.operator is None:
            (source,) = node.inputs
            is_placed = self._is_placed(self._values[source])
            made = self._view(source, node.shape) if is_placed else View(self._buffer(source), node.shape)
            self._values[node.position] = made
        elif self._on_device:
            self._add_launches(k, group)
        else:
            compute = partial(_results, node, [self._nodes[one].result for one in group.values])
            read, results = [*map(self._buffer, node.inputs)], [*map(self._result, group.values)]
            self._add(k, Call(compute, read, results, returns=True))

    def _add_launches(self, k: int, group: Group) -> None:
        """Add the launches of an operator."""
        node = self._nodes[group.values[0]]
        node = self._nodes[node.position - node.result]
        operator: Any = node.operator
        inputs: Any = [self._nodes[one] for one in node.inputs]  # their shapes and dtypes are read
        # operators of equal layers have one plan, on other values
        key = operator, operator.key(node.attributes), *[(one.shape, one.data_type) for one in inputs]
        prepared = self._prepared.get(key)
        if prepared is None:
            self.chosen[operator] = operator.chosen
            prepared = operator.prepare(self._base.device_type, inputs, node.attributes)
            self._prepared[key] = prepared
        launches, self.renamed[k], shapes, _ = prepared
        read = [*map(self._buffer, node.inputs)]
        written = [self._result(one) for one in range(node.position, node.position + len(shapes))]
        self.is_repeatable &= getattr(launches, "is_repeatable", False)
        if isinstance(launches, Plan):
            self._add(k, *launches.of(read, *written).steps)
        else:
            self._add(k, Call(launches, read, written))
        self._launching.add(k)


def _results(node: Node, written: Sequence[int], base: Any, inputs: list[Array]) -> Sequence[Array]:
    """Run an operator on tensors on a mesh; return the required results, by number."""
    results = base.compute(node.operator, inputs, node.attributes, None)
    return [results[one] for one in written]
