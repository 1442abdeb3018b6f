"""Plans: the computation of a model for given input shapes, its kernels and its memory."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ep import ops
from ep.common.bounded_cache import BoundedCache
from ep.expressions.array import LazyArray
from ep.expressions.folding import FoldingTrace
from ep.expressions.memory import Arena, Arenas
from ep.expressions.program import Program
from ep.include.arrays import Array, Arrays
from ep.include.device_type import DeviceType
from ep.onnx.calls import called, described
from ep.onnx.graph import Branch, Graph, Node
from ep.onnx.operators.loops import Steps
from ep.onnx.progress import Progress
from ep.onnx.table import OPERATORS
from ep.ops.devices import arrays_on, copy_to_host

NDArray = np.ndarray[Any, Any]
_HOST: Final = DeviceType.kCPU
_DONE: Final = Branch((), ())
"""The replacement of a node that has nothing left to compute."""


class Planner:
    """Makes the plans of one model. constants: the constants of the model, and values computed from them, on the
    host. inputs: the names of the model's. made_of: the names that each value is computed from, by name.
    """

    def __init__(self, graph: Graph, device_type: DeviceType) -> None:
        self.graph, self.device_type = graph, device_type
        self.constants: dict[str, NDArray] = dict(graph.constants)
        self.inputs = [one.name for one in graph.inputs]
        self.made_of: dict[str, Sequence[str]] = {}
        self._placed: dict[str, Array] = {}
        self._folds = BoundedCache()

    def plan(
        self,
        nodes: Sequence[Node],
        fixed: Mapping[str, NDArray],
        given: Mapping[str, Any],
        wanted: Sequence[str],
        progress: Progress | None = None,
    ) -> Plan:
        """Return the plan of nodes, in their order.

        fixed: the known values. given: the inputs, each with `shape` and `dtype`. wanted: the names of outputs.
        progress: is told about each planned node.

        Raises the errors of operators for invalid sizes, with a note that names the node.
        """
        return Plan(self, nodes, fixed, given, wanted, progress)

    def note(self, nodes: Sequence[Node]) -> None:
        """Record what nodes compute their results from."""
        self.made_of.update((name, one.inputs) for one in nodes for name in one.outputs)

    def placed(self, name: str) -> Array:
        """Return a constant on the device, in memory aligned to a cache line."""
        found = self._placed.get(name)
        if found is None:
            array = self.constants[name]
            found = self._placed[name] = arrays_on(self.device_type).copy_from_host(array)
            if self.device_type is _HOST:
                self.constants[name] = found  # once is enough
        return found

    def on_device(self) -> list[tuple[str, Array]]:
        """Return the names of the constants that the device has, and their arrays."""
        return [*self._placed.items()]

    def trace(self) -> FoldingTrace:
        """Return a new trace."""
        return FoldingTrace(arrays_on(self.device_type).kept(), "a model", self._folds)


class Plan:
    """The plan for given input shapes: values that depend only on shapes, and a program for all others.

    fixed: the values that depend only on shapes, on the host. results: the names of the results of the program.
    cut: the node that the plan ends before: it needs data on the host, or arrays; None if the plan ends with the model.
    """

    def __init__(
        self,
        planner: Planner,
        nodes: Sequence[Node],
        fixed: Mapping[str, NDArray],
        given: Mapping[str, Any],
        wanted: Sequence[str],
        progress: Progress | None = None,
    ) -> None:
        self._planner, self._wanted = planner, wanted
        planner.note(nodes)
        self.fixed = dict(fixed)
        self.cut: Node | None = None
        self._later = BoundedCache()  # plans of the nodes after the cut, by the shapes of its results
        self._bodies = BoundedCache()  # plans of the graph of a loop, by the shapes of its inputs
        self._arenas = Arenas()  # for these plans
        self._owners: list[tuple[int, str]] = []  # the first value of each node, and the node
        self._values: dict[str, Any] = {}
        trace = self._trace = planner.trace()
        try:
            self._given = {name: self._give(name, one) for name, one in given.items()}
            rest = deque(_needed(nodes, wanted))
            expect, step = (_ignore, _ignore) if progress is None else (progress.expect, progress.step)
            expect(len(rest))
            while rest:
                branch = self._add(rest[0])
                if branch is None:
                    self.cut = rest[0]
                    expect(1 - len(rest))  # its own step follows this plan
                    break
                node = rest.popleft()
                step()
                if branch.nodes or branch.outputs:
                    planner.note(branch.nodes)
                    before, rest = len(rest), deque(_needed([*_in_place_of(node, branch), *rest], wanted))
                    expect(len(rest) - before)
            read = {name for node in rest for name in node.inputs}
            self._rest = [*rest][1:]
            self.results = [name for name in self._values if name in wanted or (name in read and name not in given)]
            own = self._with_memory_of_their_own()
            positions = [own.get(name, self._values[name]).node.position for name in self.results]
            self.program = Program(trace, positions, has_memory=True)
            self._later_inputs = [name for name in read if name in self._values]
            self.num_folded, self.num_dropped = trace.num_folded, trace.num_dropped
            self._held = {id(one): position for position, one in trace.held.items()}
        finally:
            trace.end()
            self._values.clear()

    def run(self, base: Arrays, values: dict[str, Array], arena: Arena, progress: Progress | None = None) -> None:
        """Add the results to `values`, which has the inputs, by name."""
        if progress is not None:
            progress.expect(self.program.num_launches)
        given = {position: values[name] for name, position in self._given.items()}
        try:
            results = self.program.run(base, given, {}, arena, None if progress is None else progress.step)
        except Exception as error:
            value = self.program.value_of(error)
            if value >= 0:
                error.add_note(f"in {self._owner(value)}")
            raise
        values.update(zip(self.results, results, strict=True))

    def compute_cut(self, base: Arrays, values: dict[str, Array], progress: Progress | None = None) -> Plan:
        """Compute the node before which the plan ends, add its results to `values`, and return the plan of the rest."""
        node: Any = self.cut
        arrays: list[Any] = []
        body = node.attributes.get("body")
        for k, name in enumerate(node.inputs[: None if body is None else len(body.inputs)]):
            if not name:
                arrays.append(None)
            elif k in node.line.host:
                arrays.append(copy_to_host(values[name]) if name in values else self.value(name))
            elif name in values:
                arrays.append(values[name])
            else:
                is_constant = name in self._planner.constants
                arrays.append(self._planner.placed(name) if is_constant else on_device(base, self.value(name)))
        if node.line.of_data is not None:
            branch, found = self._without_data(base, node, arrays, values)
        else:
            is_loop = body is not None
            called = self._looped(base, node, arrays, values, body) if is_loop else self._call(node, arrays, values, {})
            branch = called if isinstance(called, Branch) else Branch((), ())
            results = [] if branch.outputs else [on_device(base, one) for one in called]
            found = dict(zip(node.outputs, results, strict=False))
        if progress is not None:
            progress.step()
        values.update(found)
        key = branch.outputs, *((one.shape, one.dtype) for one in found.values())
        later: Plan | None = self._later.get(key)
        if later is None:
            given = {name: values[name] for name in dict.fromkeys([*self._later_inputs, *found]) if name}
            wanted = [name for name in self._wanted if name not in found and name not in self.results]
            later = self._planner.plan([*_in_place_of(node, branch), *self._rest], self.fixed, given, wanted, progress)
            self._later.put(key, later)
        return later

    def computed(
        self,
        base: Arrays,
        values: dict[str, Array],
        arena: Arena,
        wanted: Sequence[str],
        progress: Progress | None = None,
    ) -> dict[str, Array]:
        """Compute this plan, and those of the nodes after its cuts; return outputs by name. values: the inputs.

        progress: is told about the steps of these plans, but not about those of a loop.
        """
        plan, found = self, dict[str, Array]()
        while True:
            plan.run(base, values, arena, progress)
            found.update((name, values[name]) for name in wanted if name in plan.results)
            if plan.cut is None:
                break
            cut, plan = plan.cut, plan.compute_cut(base, values, progress)
            found.update(
                (name, ops.identity(values[name])) for name in cut.outputs if name in values and name in wanted
            )
        for name in wanted:
            if name not in found:  # it depends only on the shapes of inputs
                found[name] = base.copy_from_host(plan.value(name))
        return found

    def _looped(
        self, base: Arrays, node: Node, arrays: Sequence[Any], values: Mapping[str, Array], body: Branch
    ) -> Any:
        """Return the results of a loop; its graph has an arena that no other thread uses meanwhile."""
        arena = self._arenas.taken(base)
        results = self._call(node, arrays, values, {"body": self._steps(base, values, node, body, arena)})
        self._arenas.append(arena)
        return results

    def _steps(self, base: Arrays, values: Mapping[str, Array], node: Node, body: Branch, arena: Arena) -> Steps:
        """Return the graph of a loop in the form that its operator calls. values: those that it may read."""
        outer = {name: values[name] for name in node.inputs[len(body.inputs) :] if name in values}
        self._planner.made_of.update(dict.fromkeys(body.inputs, node.inputs))

        def compute(arrays: Sequence[Any]) -> list[Array]:
            given = dict(zip(body.inputs, [on_device(base, one) for one in arrays], strict=True))
            key = tuple([(one.shape, one.dtype) for one in given.values()])
            given.update(outer)
            plan: Plan = self._bodies.keep(key, lambda: self._planner.plan(body.nodes, self.fixed, given, body.outputs))
            found = plan.computed(base, given, arena, body.outputs)
            return [found[name] for name in body.outputs]

        return Steps(compute, body.results)

    def explain(self) -> str:
        """Return a text about the kernels, their bytes, the memory, and the values computed during planning."""
        program = self.program
        names = {position: name for name, position in self._given.items()}
        for name, one in self._planner.on_device():
            if id(one) in self._held:
                names[self._held[id(one)]] = name
        memory: Any = program.memory
        lines = [
            program.schedule.explain(names),
            f"memory: {memory.num_bytes:,} bytes in one piece for {len(memory.values)} values; "
            f"those needed at once have {memory.most_live:,} at most",
            f"computed when planning: {self.num_folded} operators on constants, "
            f"{len(self.fixed)} values that follow from shapes; left out: {self.num_dropped} copies and casts",
        ]
        if self.cut is not None:
            lines.append(f"then {self.cut.shown}, which is computed by itself; what follows is planned by its results")
        return "\n".join(filter(None, lines))

    def value(self, name: str) -> NDArray:
        """Return a value that depends only on shapes, or a constant."""
        return self.fixed[name] if name in self.fixed else self._planner.constants[name]

    def _give(self, name: str, one: Any) -> int:
        lazy = self._values[name] = self._trace.give(None, tuple(one.shape), np.dtype(one.dtype))
        position: int = lazy.node.position
        return position

    def _add(self, node: Node) -> Branch | None:
        """Note a node, or compute what follows from shapes; return what takes its place, None if only data say that."""
        line, constants = node.line, self._planner.constants
        names = [name for name in node.inputs if name]
        if all(name in constants for name in filter(None, node.outputs)):
            self.fixed.update({name: constants[name] for name in node.outputs if name})
            return _DONE
        of_constants = all(name in constants for name in names) and not line.of_shape
        known = [name in self.fixed or name in constants for name in names]
        is_fixed = all(known)
        host = [name for k, name in enumerate(node.inputs) if name and k in line.host]
        told = not line.apart and all(name in self.fixed or name in constants for name in host)
        if not (told or is_fixed or line.of_shape) or line.first_state is not None:
            return None
        arrays: list[Any] = []
        for k, name in enumerate(node.inputs):
            if not name:
                arrays.append(None)
            elif is_fixed or k in line.host:
                arrays.append(self.value(name))
            elif line.of_shape:
                arrays.append(_Shaped(self._values[name] if name in self._values else self.value(name)))
            else:
                arrays.append(self._lazy(name))
        self._owners.append((len(self._trace.nodes), node.shown))
        results = self._call(node, arrays, self._values)
        if isinstance(results, Branch):
            return results
        for name, result in zip(node.outputs, results, strict=False):
            if not name:
                continue
            if isinstance(result, LazyArray):
                self._values[name] = result
                continue
            self.fixed[name] = np.asarray(result)
            if of_constants:
                constants[name] = self.fixed[name]
        return _DONE

    def _call(
        self,
        node: Node,
        arrays: Sequence[Any],
        values: Mapping[str, Any],
        others: Mapping[str, Any] = MappingProxyType({}),
    ) -> Any:
        """Return what `called` returns; errors have a note on the values that the node reads. values: by name."""
        try:
            return called(node, arrays, others)
        except Exception as error:

            def shape(name: str) -> Any:
                known = (values, self.fixed, self._planner.constants)
                return next((some[name].shape for some in known if name in some), None)

            error.add_note(described(node.inputs, self._planner.made_of, self._planner.inputs, shape))
            raise

    def _without_data(
        self, base: Arrays, node: Node, arrays: Sequence[Any], values: Mapping[str, Any]
    ) -> tuple[Branch, dict[str, Array]]:
        """Return what takes the place of a node that needs data on the host, and the array that it needs instead."""
        function: Any = node.line.of_data
        (place,) = node.line.host
        asked = node._replace(line=node.line._replace(function=function), outputs=())
        (made,) = self._call(asked, [arrays[0], arrays[place]], values)
        name, inputs = f"{node.inputs[place]} of {node.name}", [*node.inputs]
        inputs[place] = "" if made is None else name
        self._planner.made_of[name] = node.inputs[place : place + 1]
        later = node._replace(line=node.line._replace(host=()), inputs=tuple(inputs))
        return Branch((later,), ()), {} if made is None else {name: on_device(base, made)}

    def _lazy(self, name: str) -> Any:
        """Return a value in the form for traced operators."""
        found = self._values.get(name)
        if found is None:
            if name in self._planner.constants:
                return self._trace.hold(self._planner.placed(name))
            found = self._trace.copy_from_host(self.fixed[name])
        return found

    def _with_memory_of_their_own(self) -> dict[str, Any]:
        """Return copies of the outputs whose memory would be that of an input, of a constant or of another output."""
        copies, taken = dict[str, Any](), set[int]()
        for name in self._wanted:
            if name not in self._values:
                continue
            lazy = self._values[name]
            root = lazy.node
            while root.operator is None and root.inputs:
                root = self._trace.nodes[root.inputs[0]]
            if root.operator is None or root.position in taken:
                copies[name] = self._trace.copied(lazy)
            taken.add(root.position)
        return copies

    def _owner(self, position: int) -> str:
        """Return the node that recorded a value."""
        place = bisect_right(self._owners, position, key=lambda one: one[0])
        return self._owners[max(place - 1, 0)][1]


def _ignore(*steps: int) -> None:
    """Tell nobody."""


class _Shaped:
    """An array for operators that use only shapes."""

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype = tuple(array.shape), array.dtype


def on_device(base: Arrays, array: Any) -> Array:
    """Return an array of the host or of the device as a buffer of the device."""
    if isinstance(array, np.ndarray | np.generic) and not base.takes_host_arrays:
        return base.copy_from_host(np.asarray(array))
    return base.as_buffer(array, "input")


def _needed(nodes: Sequence[Node], wanted: Sequence[str]) -> list[Node]:
    """Return the nodes that outputs depend on."""
    names, found = {*wanted}, []
    for node in reversed(nodes):
        if not names.isdisjoint(node.outputs):
            found.append(node)
            names.update(filter(None, node.inputs))
    return found[::-1]


def _in_place_of(node: Node, branch: Branch) -> list[Node]:
    """Return the nodes of a branch, and those that give its outputs the names of the node's."""
    same = OPERATORS["Identity"][0]
    pairs = zip(branch.outputs, node.outputs, strict=False)
    return [*branch.nodes, *(Node(node.name, same, (inner,), (outer,), {}) for inner, outer in pairs if outer)]
