"""Graphs of models for given input shapes: their programs, and the memory of these."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ep import ops
from ep.common.arrays.on_device import on_device
from ep.common.bounded_cache import BoundedCache
from ep.common.progress import Progress
from ep.include.arrays import Array, Arrays
from ep.include.errors import UnsupportedPrimitiveError
from ep.onnx.graph import Branch, Node
from ep.onnx.inputs import Sized
from ep.onnx.operators.loops import Steps
from ep.onnx.planned import Planned, in_place_of
from ep.ops.devices import as_array, copy_to_host


class SpecializedGraph:
    """A graph for given input shapes: a program, and the graphs of the nodes that follow the cut at its end."""

    def __init__(self, planned: Planned) -> None:
        self._planned, of_plan = planned, operator.attrgetter("holds")
        self._later = BoundedCache(of_plan)  # plans of the nodes after the cut, by the shapes of its results
        self._bodies = BoundedCache(of_plan)  # plans of the graph of a loop, by the shapes of its inputs

    @property
    def holds(self) -> Mapping[Any, int]:
        """As for `BoundedCache`."""
        return self._planned.named.holds

    def calls(self) -> Iterator[tuple[Any, Sequence[Any]]]:
        """Yield the calls of operators of all plans that there are now, as `Program.calls` does."""
        yield from self._planned.named.calls()
        for plan in (*self._later.values(), *self._bodies.values()):
            yield from plan.calls()

    def outputs(self, base: Arrays, values: Mapping[str, Array], progress: Progress | None = None) -> list[Array]:
        """Return the outputs. values: the inputs, by name.

        progress: is told about the steps of these plans, but not about those of a loop.
        """
        plan, wanted, values, found = self, self._planned.wanted, dict(values), dict[str, Array]()
        while True:
            planned = plan._planned
            values.update(zip(planned.results, planned.named.run(base, values, progress), strict=True))
            found.update((name, values[name]) for name in wanted if name in planned.results)
            if planned.cut is None:
                break
            plan = plan._compute_cut(base, values, planned.cut, progress)
            of_cut = [name for name in planned.cut.outputs if name in values and name in wanted]
            found.update((name, self._copied(base, values[name])) for name in of_cut)
        for name in wanted:
            if name not in found:  # it depends only on the shapes of inputs
                found[name] = base.copy_from_host(planned.value(name))
        return [found[name] for name in wanted]

    def _copied(self, base: Arrays, array: Array) -> Array:
        """Return a copy of an array. If the device has no kernel for it, it is copied by way of the host."""
        try:
            return ops.identity(array)
        except UnsupportedPrimitiveError:
            if self._planned.known.otherwise is None:
                raise
            return placed(base, copy_to_host(array))

    def _compute_cut(
        self, base: Arrays, values: dict[str, Array], node: Node, progress: Progress | None
    ) -> SpecializedGraph:
        """Compute the node before which the program ends, add its results to `values`; return the plan of the rest."""
        body: Any = node.attributes.get("body")
        arrays = [
            self._read(base, values, name, k in node.line.host)
            for k, name in enumerate(node.inputs[: None if body is None else len(body.inputs)])
        ]
        if node.line.of_data is not None:
            branch, found = self._without_data(base, node, arrays, values)
        else:
            if body is None:
                called = self._call(base, node, arrays, values)
            else:
                called = self._call(base, node, arrays, values, self._steps(base, values, node, body))
            branch = called if isinstance(called, Branch) else Branch((), ())
            results = [] if branch.outputs else [placed(base, one) for one in called]
            found = dict(zip(node.outputs, results, strict=False))
        if progress is not None:
            progress.step()
        values.update(found)
        key = branch.outputs, *((one.shape, one.dtype) for one in found.values())
        later: SpecializedGraph | None = self._later.get(key)
        if later is None:
            planned = self._planned
            given = {name: values[name] for name in dict.fromkeys([*planned.read_later, *found]) if name}
            wanted = [name for name in planned.wanted if name not in found and name not in planned.results]
            nodes = [*in_place_of(node, branch), *planned.rest]
            later = SpecializedGraph(Planned(planned.known, nodes, planned.fixed, given, wanted, progress))
            self._later.put(key, later)
        return later

    def _read(self, base: Arrays, values: Mapping[str, Array], name: str, from_host: bool) -> Any:
        """Return an operand of a node; None if its name is empty. from_host: whether the node needs it on the host."""
        if not name:
            return None
        if name in values:
            return copy_to_host(values[name]) if from_host else values[name]
        if from_host:
            return self._planned.value(name)
        known = self._planned.known
        return known.placed(name) if name in known.constants else placed(base, self._planned.value(name))

    def _call(
        self,
        base: Arrays,
        node: Node,
        arrays: Sequence[Any],
        values: Mapping[str, Array],
        body: Steps | None = None,
    ) -> Any:
        """Return the results of a node, or the branch that it chooses. body: the graph of a loop.

        The other device computes a node for which the first one lacks a kernel, and the first one the body of a loop.
        """
        known, seen = self._planned.known, (values, self._planned.fixed)
        try:
            return known.call(node, arrays, seen, {} if body is None else {"body": body})
        except UnsupportedPrimitiveError:
            other = known.otherwise
            if other is None:
                raise
        there, host = _mover(other), node.line.host
        given = [one if one is None or k in host else there(one) for k, one in enumerate(arrays)]
        others = dict[str, Any]()
        if body is not None:
            compute = body.compute
            others["body"] = Steps(
                lambda inputs: [*map(there, compute([*map(copy_to_host, inputs)]))], body.sized, body.results
            )
        called = known.call(node, given, seen, others)
        return called if isinstance(called, Branch) else [*map(_mover(base), called)]

    def _steps(self, base: Arrays, values: Mapping[str, Array], node: Node, body: Branch) -> Steps:
        """Return the graph of a loop in the form that its operator calls. values: those that it may read."""
        outer = {name: values[name] for name in node.inputs[len(body.inputs) :] if name in values}
        around = self._planned
        around.known.made_of.update(dict.fromkeys(body.inputs, node.inputs))

        def planned(given: Mapping[str, Any]) -> Planned:
            return Planned(around.known, body.nodes, around.fixed, given, body.outputs)

        def compute(arrays: Sequence[Any]) -> list[Array]:
            given = dict(zip(body.inputs, [on_device(base, one) for one in arrays], strict=True))
            key = tuple([(one.shape, one.dtype) for one in given.values()])
            given.update(outer)
            plan: SpecializedGraph = self._bodies.keep(key, lambda: SpecializedGraph(planned(given)))
            return plan.outputs(base, given)

        def sized(inputs: Sequence[Sized]) -> list[Sized | None]:
            found = planned({**dict(zip(body.inputs, inputs, strict=True)), **outer})
            return [found.sized(name) for name in body.outputs]

        return Steps(compute, sized, body.results)

    def _without_data(
        self, base: Arrays, node: Node, arrays: Sequence[Any], values: Mapping[str, Any]
    ) -> tuple[Branch, dict[str, Array]]:
        """Return what takes the place of a node that needs data on the host, and the array that it needs instead."""
        function: Any = node.line.of_data
        (place,) = node.line.host
        asked = node._replace(line=node.line._replace(function=function), outputs=())
        (made,) = self._call(base, asked, [arrays[0], arrays[place]], values)
        name, inputs = f"{node.inputs[place]} of {node.name}", [*node.inputs]
        inputs[place] = "" if made is None else name
        self._planned.known.made_of[name] = node.inputs[place : place + 1]
        later = node._replace(line=node.line._replace(host=()), inputs=tuple(inputs))
        return Branch((later,), ()), {} if made is None else {name: placed(base, made)}


def _mover(base: Arrays) -> Callable[[Any], Array]:
    """Return the function that copies an array of any device to another one."""
    return lambda array: placed(base, copy_to_host(array))


def placed(base: Arrays, array: Any) -> Array:
    """Return an array of the host or of the device as operators of the device take it."""
    return as_array(base, on_device(base, array), "a result")
