"""Graphs of models for given input shapes: their programs, and the memory of these."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from ep import ops
from ep.common.arrays.on_device import on_device
from ep.common.bounded_cache import MOST_IDLE, BoundedCache
from ep.common.plans.stored_plan import Launches
from ep.common.progress import Progress
from ep.expressions.memory import Arena, Arenas
from ep.expressions.runs import Whole
from ep.include.arrays import Array, Arrays
from ep.onnx.graph import Branch, Node
from ep.onnx.inputs import Sized
from ep.onnx.operators.loops import Steps
from ep.onnx.planned import Planned, in_place_of
from ep.ops.devices import copy_to_host


class SpecializedGraph:
    """A graph for given input shapes: a program, and the graphs of the nodes that follow the cut at its end."""

    def __init__(self, planned: Planned) -> None:
        self._planned = planned
        self._later = BoundedCache(
            operator.attrgetter("holds")
        )  # plans of the nodes after the cut, by the shapes of its results
        self._bodies = BoundedCache(
            operator.attrgetter("holds")
        )  # plans of the graph of a loop, by the shapes of its inputs
        self._arenas = Arenas()  # for these plans

    def explain(self) -> str:
        """Return a text about the kernels, their bytes, the memory, and the values computed during planning."""
        return self._planned.explain()

    @property
    def holds(self) -> Mapping[Any, int]:
        """As for `BoundedCache`."""
        return self._planned.named.holds

    @property
    def is_one_program(self) -> bool:
        """Whether no node is computed by itself, and no plan follows."""
        return self._planned.cut is None

    @property
    def whole(self) -> Whole | None:
        """The program, if it gives all outputs, in any order."""
        planned = self._planned
        if planned.cut is not None or not {*planned.wanted} <= {*planned.results}:
            return None
        return Whole(planned.program, [*planned.given], [planned.results.index(name) for name in planned.wanted])

    def is_recorded(self, arena: Arena) -> bool:
        """Return whether the launches in an arena are known: then later runs do not change them."""
        return self._planned.named.is_recorded(arena)

    def launches(self, arena: Arena) -> Launches | None:
        """Return the launches that compute the outputs, recorded in an arena; None if they are not all that does."""
        return self._planned.named.launches(arena, self._planned.wanted) if self.is_one_program else None

    def outputs(
        self, base: Arrays, values: Mapping[str, Array], arena: Arena, progress: Progress | None = None
    ) -> list[Array]:
        """Return the outputs that the plan is for. values: the inputs, by name. progress: is told about the steps."""
        planned, found = self._planned, dict(values)
        if self.whole is None:
            found = self.computed(base, found, arena, planned.wanted, progress)
        else:
            planned.run(base, found, arena, progress)
        return [found[name] for name in planned.wanted]

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
            planned = plan._planned
            results = planned.program.repeated(base, map(values.__getitem__, planned.given), arena)
            if results is None:
                planned.run(base, values, arena, progress)
            else:
                values.update(zip(planned.results, results, strict=True))
            found.update((name, values[name]) for name in wanted if name in planned.results)
            if planned.cut is None:
                break
            plan = plan._compute_cut(base, values, planned.cut, progress)
            found.update(
                (name, ops.identity(values[name])) for name in planned.cut.outputs if name in values and name in wanted
            )
        for name in wanted:
            if name not in found:  # it depends only on the shapes of inputs
                found[name] = base.copy_from_host(planned.value(name))
        return found

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
                called = self._call(node, arrays, values)
            else:
                called = self._looped(base, node, arrays, values, body)
            branch = called if isinstance(called, Branch) else Branch((), ())
            results = [] if branch.outputs else [on_device(base, one) for one in called]
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
        return known.placed(name) if name in known.constants else on_device(base, self._planned.value(name))

    def _call(self, node: Node, arrays: Sequence[Any], values: Mapping[str, Array], **others: Any) -> Any:
        return self._planned.known.call(node, arrays, (values, self._planned.fixed), others)

    def _looped(
        self, base: Arrays, node: Node, arrays: Sequence[Any], values: Mapping[str, Array], body: Branch
    ) -> Any:
        """Return the results of a loop; its graph has an arena that no other thread uses meanwhile."""
        arena = self._arenas.taken(base)
        results = self._call(node, arrays, values, body=self._steps(base, values, node, body, arena))
        if len(self._arenas) < MOST_IDLE:
            self._arenas.append(arena)
        return results

    def _steps(self, base: Arrays, values: Mapping[str, Array], node: Node, body: Branch, arena: Arena) -> Steps:
        """Return the graph of a loop in the form that its operator calls. values: those that it may read."""
        outer = {name: values[name] for name in node.inputs[len(body.inputs) :] if name in values}
        self._planned.known.made_of.update(dict.fromkeys(body.inputs, node.inputs))

        def compute(arrays: Sequence[Any]) -> list[Array]:
            given = dict(zip(body.inputs, [on_device(base, one) for one in arrays], strict=True))
            key = tuple([(one.shape, one.dtype) for one in given.values()])
            given.update(outer)
            around = self._planned
            plan: SpecializedGraph = self._bodies.keep(
                key, lambda: SpecializedGraph(Planned(around.known, body.nodes, around.fixed, given, body.outputs))
            )
            found = plan.computed(base, given, arena, body.outputs)
            return [found[name] for name in body.outputs]

        def sized(inputs: Sequence[Sized]) -> list[Sized | None]:
            given = {**dict(zip(body.inputs, inputs, strict=True)), **outer}
            planned = Planned(self._planned.known, body.nodes, self._planned.fixed, given, body.outputs)
            return [planned.sized(name) for name in body.outputs]

        return Steps(compute, sized, body.results)

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
        self._planned.known.made_of[name] = node.inputs[place : place + 1]
        later = node._replace(line=node.line._replace(host=()), inputs=tuple(inputs))
        return Branch((later,), ()), {} if made is None else {name: on_device(base, made)}
