"""The plan of a program: the launches of its kernels and operators, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.expressions.foreign import ForeignStep
from ep.expressions.group import Group, Indices, Range, Strided
from ep.expressions.memory import Memory, num_bytes_of
from ep.expressions.trace import Node, Trace
from ep.include.arrays import Array, Placeholder
from ep.include.primitive import ExpressionFactory, RequirePrimitive
from ep.run.explanation import Explanation
from ep.run.loop import Loop, step_of
from ep.run.plan import Plan
from ep.run.steps import VALUES, Call, Check, Converted, Launch, Step, StepOrigin, Temporary, Value, View, uses

_WHOLE: Final = Strided(None, None, None)


class Lowering:
    """The plan of a program, with the kernels that are registered now.

    plan: the steps. groups: for each step, the number of its group. inputs: the positions of the arrays and numbers
    that it reads, in the order of its operands. returned: the results, values or constants. memory: of its temporary
    values; None for a program without. num_launches: the number of steps that launch. chosen: the kernels that
    operators had. is_repeatable: whether all launches depend on shapes and attributes only. constants: the arrays that
    are in the same memory in each call. changing: those among them whose elements may change.
    """

    def __init__(self, program: Any, trace: Trace) -> None:
        self._schedule, self._nodes = program.schedule, program.schedule.nodes
        self._on_device, self._numbers = program.on_device, program.numbers
        self._are_buffers = trace.gives_buffers
        self._base: Any = trace.base
        self._values: dict[int, Any] = {}  # by position: values, and constants
        self._contiguous = set[Value]()
        self.chosen: dict[Any, Any] = {}
        self._primitives: dict[Any, Any] = {}
        self._plans: dict[Any, Plan] = {}
        self.constants: list[Array] = []
        self._steps: list[Step] = []
        self.groups: list[int] = []
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
        for k, group in enumerate(groups):
            (self._add_operator if group.structure is None else self._add_kernel)(k, group)
        self.plan = Plan(*self._steps)
        self.num_launches = sum(not isinstance(step, Check) for step in self._steps)
        self.is_repeatable = self._on_device and self.plan.is_repeatable
        self.returned = [self._array(one) for one in program.results]
        self.memory = Memory(self.plan.steps, self.returned) if program.has_memory else None
        self._loops = BoundedCache()

    @property
    def temporary_bytes(self) -> int:
        """The bytes of all temporary values that are not returned, if each has memory of its own."""
        found, end = uses(self.plan.steps, self.returned), len(self.plan.steps)
        return sum(num_bytes_of(one) for one, (_, last) in found.items() if isinstance(one, Temporary) and last < end)

    def loop(self, direct: tuple[int, ...]) -> Loop:
        """Return the loop that runs the plan. Its operands are the inputs, the arrays in memory, and those for results.

        direct: the positions of these results. The steps write those of them that are neither inputs nor views.
        """
        return self._loops.keep(direct, lambda: self._new_loop(direct))

    def _new_loop(self, direct: tuple[int, ...]) -> Loop:
        placed: Sequence[Any] = [] if self.memory is None else self.memory.values
        numbers = {one: k for k, one in enumerate(placed, len(self.inputs))}
        written = enumerate(map(self._values.__getitem__, direct), len(self.inputs) + len(placed))
        numbers |= {one: k for k, one in written if isinstance(one, Temporary)}
        return Loop(self.plan.steps, numbers, self.returned)

    def group_of(self, error: BaseException) -> int:
        """Return the number of the group whose step raised an error; -1 if none did."""
        number = step_of(error, self.plan.steps)
        return self.groups[number] if number >= 0 else -1

    def explain(self, names: Mapping[int, str]) -> Explanation:
        """Return the explanation of the plan, as text and for a drawing. names: those of inputs, by position."""
        given = {Placeholder(k): self._nodes[one] for k, one in enumerate(self.inputs)}
        called = dict.fromkeys(self._numbers, "number") | {**names}
        values = {one: self._values[one] for one in called if one in self._values}
        found = {value if isinstance(value, VALUES) else id(value): called[one] for one, value in values.items()}
        return Explanation(self.plan.steps, given, self.returned, found)

    def _add(self, group: int, *steps: Step) -> None:
        self._steps += steps
        self.groups += [group] * len(steps)

    def _constant(self, array: Any) -> Any:
        if hasattr(array, "dtype") and hasattr(array, "shape"):
            self.constants.append(array)
        return array

    def _add_constant(self, position: int, number: Any) -> None:
        self._values[position] = self._constant(number)

    def _view(self, position: int, how: Any, origin: StepOrigin | None = None) -> Any:
        """Return a view of a value; how: a shape, or the arguments of `Arrays.view`."""
        source = self._values[position]
        if isinstance(how, Strided):
            axes = how.axes
            if how.places is None and axes is None:  # it is broadcast, not reshaped
                axes = tuple(range(len(self._nodes[position].shape)))
            return View(source, how.shape, how.places, axes, origin)
        return View(source, how) if isinstance(source, VALUES) else self._constant(source.reshape(how))

    def _array(self, position: int) -> Any:
        """Return a value as an array, or as a number in the form that kernels accept."""
        value = self._values[position]
        return Converted(value, is_number=True) if self._on_device and position in self._numbers else value

    def _buffer(self, position: int) -> Any:
        """Return a value in the form that operators accept."""
        value = self._values[position]
        if isinstance(value, VALUES) and value in self._contiguous:
            return value
        is_buffer = self._are_buffers and position not in self._numbers and position not in self._schedule.strided
        return value if is_buffer else Converted(self._array(position))

    def _result(self, position: int, is_contiguous: bool) -> Any:
        """Return the array for a result of a group."""
        if position not in self._values:
            node = self._nodes[position]
            self._values[position] = made = Temporary(node.shape, node.dtype)
            if is_contiguous:
                self._contiguous.add(made)
        return self._values[position]

    def _add_kernel(self, k: int, group: Group) -> None:
        # kernels of one structure and shapes, such as those of equal layers, are one primitive, with one plan
        of_kernel = group.structure, *(self._nodes[one].shape for one in (*group.results, *dict(group.reads)))
        primitive = self._primitives.get(of_kernel)
        if primitive is None:
            primitive = RequirePrimitive(ExpressionFactory, self._base.device_type, group.structure)
            self._primitives[of_kernel] = primitive
        for one in group.results:  # a result may be in an array of the caller's, with strides
            self._result(one, one not in self._schedule.results)
        matrices = 0 if group.product is None else 2
        written = [self._read(one, group.shape_of(one)) for one in group.results]
        read = [self._buffer(one) for one, _ in group.reads[:matrices]]
        read += [self._read(one, how) for one, how in group.reads[matrices:]]
        cuts = self._schedule.cuts(group).items()
        reasons = [f"cut before {self._nodes[one].shown}: {why}" for one, why in cuts]
        self._add(k, Launch(primitive, written, read, origin=StepOrigin("", reasons)))

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
        view, origin = self._schedule.strided.get(node.position), StepOrigin(node.shown, [f"alone: {group.why}"])
        if view is not None:
            self._values[node.position] = self._view(node.inputs[0], view, origin)
        elif node.operator is None:
            self._values[node.position] = made = View(self._buffer(*node.inputs), node.shape, origin=origin)
            self._contiguous.add(made)
        elif isinstance(node.operator, ForeignStep):
            self._add_foreign(k, group, node.operator)
        elif self._on_device:
            self._add_launches(k, group, origin)
        else:
            compute = partial(_results, node, [self._nodes[one].result for one in group.values])
            read, results = [*map(self._buffer, node.inputs)], [self._result(one, True) for one in group.values]
            self._add(k, Call(compute, read, results, returns=True, origin=origin))

    def _add_foreign(self, k: int, group: Group, step: ForeignStep) -> None:
        """Add a step of which another device has operands or results."""
        node = self._nodes[group.values[0]]
        read = [*map(self._buffer if step.reads_here else self._values.__getitem__, node.inputs)]
        results = [self._result(one, True) for one in group.values]
        self._add(k, Call(step, read, results, returns=True, origin=StepOrigin("", step.reasons)))

    def _add_launches(self, k: int, group: Group, origin: StepOrigin) -> None:
        """Add the launches of an operator."""
        node = self._nodes[group.values[0]]
        node = self._nodes[node.position - node.result]
        operator: Any = node.operator
        inputs: Any = [self._nodes[one] for one in node.inputs]  # their shapes and dtypes are read
        # operators of equal layers have one plan, on other values
        key = operator, operator.key(node.attributes), *[(one.shape, one.data_type) for one in inputs]
        plan = self._plans.get(key)
        if plan is None:
            self.chosen[operator] = operator.chosen
            self._plans[key] = plan = operator.prepare(self._base.device_type, inputs, node.attributes)
        read = [*map(self._buffer, node.inputs)]
        written = [self._result(one, True) for one in range(node.position, node.position + len(plan.shapes))]
        self._add(k, *plan.of(read, *written, origin=origin._replace(names=plan.names)).steps)


def _results(node: Node, written: Sequence[int], base: Any, inputs: list[Array]) -> Sequence[Array]:
    """Run an operator on tensors on a mesh; return the required results, by number."""
    results = base.compute(node.operator, inputs, node.attributes, None)
    return [results[one] for one in written]
