"""The source code of the function that runs a program."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Final

import numpy as np

from ep.common.source import function_of
from ep.expressions.group import Group, Indices, Range, Strided
from ep.expressions.memory import Memory
from ep.expressions.trace import Node, Trace
from ep.include.arrays import Array, Placeholder
from ep.include.primitive import ExpressionFactory, RequirePrimitive
from ep.ops.indices import resolved
from ep.run.plan import Plan


class ProgramText:
    """Writes the function that runs a program: one line for each launch, so that a call adds little to the launches.

    lines: the lines of the function. steps: for each line, the group that it belongs to. renamed: for each group, the
    names of the operator for arguments of launches. chosen: the kernels that operators had. is_repeatable: whether all
    launches depend on shapes and attributes only. changing: the arrays among `constants` whose elements may change.
    """

    def __init__(self, program: Any, trace: Trace, memory: Memory | None) -> None:
        self._schedule, self._nodes = program.schedule, program.schedule.nodes
        self._on_device, self._numbers = program.on_device, program.numbers
        self._has_memory = memory is not None
        self._places = {} if memory is None else {one: k for k, one in enumerate(memory.values)}
        self._num_places = len(self._places)
        self.derived: list[tuple[int, tuple[Any, ...]]] = []  # arrays made from arrays in memory
        self._are_buffers = trace.gives_buffers
        base: Any = trace.base
        self._names: dict[str, Any] = {"number": _number_as_array}
        self._constants: set[int] = set()
        self.renamed: dict[int, Mapping[str, str]] = {}
        self.chosen: dict[Any, Any] = {}
        self._primitives: dict[Any, Any] = {}
        self.is_repeatable = True
        self.lines: list[str] = []
        self.steps: list[int] = []
        if program.on_device and self._schedule.groups:
            self._write(-1, "stream, empty = base.stream, base.empty")
        for node in self._nodes:
            if node.constant is not None:
                number = np.frombuffer(node.constant, node.dtype).reshape(())
                self._add_constant(node.position, base.number(number))
        for position, size in trace.sizes.items():
            self._add_constant(position, base.number(size))
        computed = {one for group in self._schedule.groups for one in group.values}
        read = {one for group in self._schedule.groups for one in group.sources} | {*self._schedule.results}
        held = trace.held | trace.changing
        for position in read & held.keys():
            self._add_constant(position, held[position])
        self.changing = [trace.changing[position] for position in read & trace.changing.keys()]
        self._write(-1, *(f"v{one} = given[{one}]" for one in sorted(read - computed - self._constants)))
        for k, group in enumerate(self._schedule.groups):
            (self._add_operator if group.structure is None else self._add_kernel)(base, k, group)
            # the memory of the other arrays is free for the next steps
            fixed = self._constants | self._places.keys()
            last = [one for one in group.sources if self._schedule.last_read[one] == k and one not in fixed]
            self._write(k, *([f"del {', '.join(map(self._value, last))}"] if last else []))

    def body(self, results: Sequence[int]) -> Callable[..., list[Array]]:
        """Return the function body(base, given, direct, arena) that returns results.

        direct: arrays for some of the results. arena: has the arrays of intermediate values.
        """
        lines = [*self.lines, f"return [{', '.join(map(self._array, results))}]"]
        if self._has_memory:
            lines.insert(0, "work, begin = arena.work, arena.begin")
            self.steps.insert(0, -1)
            if self._num_places:
                lines.insert(0, f"{', '.join(f'm{k}' for k in range(self._num_places))}, = arena.arrays")
                self.steps.insert(0, -1)
        text = "\n    ".join(["def body(base, given, direct, arena):", *lines])
        return function_of(text, "body", __name__, self._names)

    @property
    def constants(self) -> list[Array]:
        """The arrays that are in the same memory in each call."""
        return [one for one in self._names.values() if hasattr(one, "dtype") and hasattr(one, "shape")]

    def _write(self, group: int, *lines: str) -> None:
        self.lines += lines
        self.steps += [group] * len(lines)

    def _add_constant(self, position: int, number: Any) -> None:
        self._names[f"c{position}"] = number
        self._constants.add(position)

    def _value(self, position: int) -> str:
        if position in self._constants:
            return f"c{position}"
        place = self._places.get(position)
        return f"v{position}" if place is None else f"m{place}"

    def _derive(self, position: int, how: tuple[Any, ...]) -> int:
        """Return the index, among the arrays in memory, of an array that is made from another one in advance.

        how: a shape, or the arguments of `Arrays.view`.
        """
        self.derived.append((self._places[position], how))
        self._num_places += 1
        return self._num_places - 1

    def _array(self, position: int) -> str:
        """Return the code for a value as an array, or as a number in the form that kernels accept."""
        value = self._value(position)
        return f"number(base, {value})" if self._on_device and position in self._numbers else value

    def _buffer(self, position: int) -> str:
        """Return the code for a value in the form that operators accept."""
        schedule = self._schedule  # a result may be in an array of the caller's, with strides
        is_buffer = self._nodes[position].inputs and position not in {*schedule.views, *schedule.results}
        if self._are_buffers and position not in self._numbers and position not in self._schedule.strided:
            is_buffer = True
        return self._value(position) if is_buffer else f'base.as_buffer({self._array(position)}, "x")'

    def _add_results(self, k: int, results: Sequence[int], *, may_be_given: bool) -> None:
        """Write the code that allocates results."""
        for one in results:
            node = self._nodes[one]
            if one in self._places:
                continue
            self._names |= {f"s{one}": node.shape, f"d{one}": node.dtype}
            directly = f"direct[{one}] if {one} in direct else " if may_be_given else ""
            self._write(k, f"v{one} = {directly}empty(s{one}, d{one})")

    def _add_kernel(self, base: Any, k: int, group: Group) -> None:
        # kernels of one structure and shapes, such as those of equal layers, are one primitive, with one plan
        of_kernel = group.structure, *(self._nodes[one].shape for one in (*group.results, *dict(group.reads)))
        primitive = self._primitives.get(of_kernel)
        if primitive is None:
            primitive = RequirePrimitive(ExpressionFactory, base.device_type, group.structure)
            self._primitives[of_kernel] = primitive
        self._names[f"launch{k}"] = primitive.Launch
        self._add_results(k, group.results, may_be_given=True)
        operands = [(one, group.shape_of(one)) for one in group.results]
        matrices = 0 if group.product is None else 2
        shown = [self._buffer(one) for one, _ in group.reads[:matrices]]
        arrays = "base"
        if self._has_memory and any(isinstance(how, Indices) for _, how in group.reads):
            self._write(k, "begin()")
            arrays = "work"
        for one, shape in (*operands, *group.reads[matrices:]):
            if isinstance(shape, Indices):
                self._names |= {"resolved": resolved}
                indices = f"resolved({arrays}, {self._buffer(one)}, {shape.size}, {shape.mode!r})"
                self._write(k, f"i{k}_{len(shown)} = {indices}.reshape({shape.shape})")
                shown.append(f"i{k}_{len(shown)}")
            elif isinstance(shape, Range):
                rows = np.arange(shape.begin, shape.end).reshape(shape.shape)
                self._names[f"j{k}_{len(shown)}"] = base.copy_from_host(rows)
                shown.append(f"j{k}_{len(shown)}")
            elif shape in (None, self._nodes[one].shape, _WHOLE):
                shown.append(self._value(one))
            elif isinstance(shape, Strided) and one not in self._places:
                self._names[f"w{k}_{len(shown)}"] = shape
                shown.append(f"base.view({self._value(one)}, *w{k}_{len(shown)})")
            elif one in self._places:
                shown.append(f"m{self._derive(one, shape)}")
            elif one in self._constants:
                self._names[f"c{one}_{k}"] = self._names[f"c{one}"].reshape(shape)
                shown.append(f"c{one}_{k}")
            else:
                shown.append(f"{self._value(one)}.reshape({shape})")
        end = matrices + len(operands)
        written, read = (", ".join(some) for some in (shown[matrices:end], shown[:matrices] + shown[end:]))
        self._write(k, f"launch{k}(stream, [{written}], [{read}])")

    def _add_operator(self, base: Any, k: int, group: Group) -> None:
        node = self._nodes[group.values[0]]
        view = self._schedule.strided.get(node.position)
        is_view = view is not None or node.operator is None
        if is_view and node.inputs[0] in self._places:
            self._places[node.position] = self._derive(node.inputs[0], node.shape if view is None else view)
        elif view is not None:
            self._names[f"w{k}"] = view
            self._write(k, f"v{node.position} = base.view({self._value(node.inputs[0])}, *w{k})")
        elif node.operator is None:
            self._write(k, f"v{node.position} = {self._buffer(node.inputs[0])}.reshape({node.shape})")
        elif self._on_device:
            self._add_launch(base, k, group)
        else:
            self._names[f"compute{k}"] = partial(_results, node, [self._nodes[one].result for one in group.values])
            inputs = ", ".join(map(self._buffer, node.inputs))
            results = ", ".join(map(self._value, group.values))
            self._write(k, f"[{results}] = compute{k}(base, [{inputs}])")

    def _add_launch(self, base: Any, k: int, group: Group) -> None:
        """Write the launches of an operator; a single launch is written with its arguments."""
        node = self._nodes[group.values[0]]
        node = self._nodes[node.position - node.result]
        operator: Any = node.operator
        self.chosen[operator] = operator.chosen
        inputs: Any = [self._nodes[one] for one in node.inputs]  # their shapes and dtypes are read
        launches, self.renamed[k], shapes, _ = operator.prepare(base.device_type, inputs, node.attributes)
        results = range(node.position, node.position + len(shapes))
        self._add_results(k, results, may_be_given=False)
        read, written = [*map(self._buffer, node.inputs)], [*map(self._value, results)]
        unread = [self._value(one) for one in results if one not in group.values]
        single = launches.single if isinstance(launches, Plan) else None
        if single is None or single.indices:
            self._names[f"launch{k}"] = launches
            # a function of another package may compute without launches, which its recording would not have
            self.is_repeatable &= isinstance(launches, Plan) or getattr(launches, "is_repeatable", False)
            self._write(k, *(["begin()"] if self._has_memory else []))
            arrays = "work" if self._has_memory else "base"
            self._write(k, f"launch{k}({arrays}, [{', '.join(read)}], [{', '.join(written)}])")
            self._write(k, *([f"del {', '.join(unread)}"] if unread else []))
            return
        self._names[f"launch{k}"] = single.launch.primitive.Launch
        shown = []
        for place, one in enumerate(single.launch.arguments):
            if isinstance(one, Placeholder):
                shown.append(written[one.result] if one.number is None else read[one.number])
            else:
                self._names[f"a{k}_{place}"] = one
                shown.append(f"a{k}_{place}")
        self._write(k, f"launch{k}({', '.join(['stream', *shown])})")


def telling(body: Callable[..., list[Array]], launched: Callable[[], None]) -> Callable[..., list[Array]]:
    """Return a function like the body of a program, with the same code, that calls `launched` after each launch."""

    def told(launch: Callable[..., Any]) -> Callable[..., Any]:
        def launch_and_tell(*arguments: Any) -> None:
            launch(*arguments)
            launched()

        return launch_and_tell

    names = {name: told(one) if _LAUNCH.fullmatch(name) else one for name, one in body.__globals__.items()}
    return FunctionType(body.__code__, names)


def launches_of(body: Callable[..., list[Array]]) -> int:
    """Return the number of launches in the body of a program."""
    return sum(_LAUNCH.fullmatch(name) is not None for name in body.__globals__)


_LAUNCH: Final = re.compile("launch[0-9]+")
_WHOLE: Final = Strided(None, None, None)


def _number_as_array(base: Any, value: Any) -> Array:
    return base.filled(np.asarray(value))


def _results(node: Node, written: Sequence[int], base: Any, inputs: list[Array]) -> Sequence[Array]:
    """Run an operator on tensors on a mesh; return the required results, by number."""
    results = base.compute(node.operator, inputs, node.attributes, None)
    return [results[one] for one in written]
