"""The graph of a model, and the plans that are made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ep.common.progress import Progress
from ep.expressions.memory import Arenas
from ep.include.arrays import Array, Arrays
from ep.include.device_type import DeviceType
from ep.onnx.folding import folded
from ep.onnx.graph import Branch, Node, graph_of
from ep.onnx.inputs import Sized
from ep.onnx.known import Known
from ep.onnx.plan import Plan
from ep.onnx.planned import Planned
from ep.onnx.reading import read
from ep.onnx.source import Source
from ep.onnx.stored import Stored
from ep.onnx.stored_plan import Launches


class Planner:
    """A checked model on a device.

    signatures: of its inputs and its outputs. nodes: as the file has them, without their tensors and graphs.
    """

    def __init__(self, source: Source, device_type: DeviceType) -> None:
        """Read a model; raises the errors of `load`."""
        model, self._is_whole = read(source)
        graph = graph_of(model)
        self.signatures = graph.inputs, graph.outputs
        self.nodes = tuple(map(_without_tensors, graph.nodes))
        graph = folded(graph)
        self._left = graph.nodes
        self._known = Known(graph, device_type)  # it alone keeps the constants
        self._arenas = Arenas()

    def runs(self, wanted: Sequence[str], given: Mapping[str, Any], stored: Stored, progress: Progress | None) -> Runs:
        """Return the runs of a new plan. given: the inputs, by name. stored: where the plan is kept."""
        keep = None
        if self._is_whole and stored.keeps:
            sizes = {name: Sized.of(one) for name, one in given.items()}
            keep = partial(stored.keep, self.signatures, wanted, sizes)
        return Runs(self._plan(wanted, given, progress), self._arenas, keep)

    def explain(self, given: Mapping[str, Any]) -> str:
        """Return a description of the plan for all outputs. given: the inputs, by name."""
        constants = sum(one.nbytes for one in self._known.constants.values())
        lines = [f"nodes: {len(self.nodes)}; left when the model is loaded: {len(self._left)}"]
        lines.append(f"constants: {constants:,} bytes")
        return "\n".join([*lines, self._plan([one.name for one in self.signatures[1]], given).explain()])

    def _plan(self, wanted: Sequence[str], given: Mapping[str, Any], progress: Progress | None = None) -> Plan:
        return Plan(Planned(self._known, self._left, {}, given, wanted, progress))


class Runs:
    """The runs of a plan, for certain outputs and shapes of inputs."""

    def __init__(self, plan: Plan, arenas: Arenas, keep: Callable[[Launches], None] | None) -> None:
        """arenas: of the model. keep: keeps the launches, when they have been recorded."""
        self._plan, self._arenas = plan, arenas
        self._keep = keep if plan.is_one_program else None

    def recorded(self, base: Arrays, values: Mapping[str, Array], wanted: Sequence[str]) -> None:
        """Compute the outputs once more, so that the plan is kept, unless it cannot be."""
        if self._keep is not None:
            self.outputs(base, values, wanted)

    def outputs(
        self, base: Arrays, values: Mapping[str, Array], wanted: Sequence[str], progress: Progress | None = None
    ) -> tuple[Array, ...]:
        """Return the outputs. values: the inputs, by name. progress: is told about the steps."""
        arena = self._arenas.taken(base)
        found = self._plan.computed(base, dict(values), arena, wanted, progress)
        keep = self._keep  # another thread may keep the plan meanwhile
        if keep is not None and self._plan.is_recorded(arena):
            launches = self._plan.launches(arena, wanted)
            if launches is not None:
                keep(launches)
            self._keep = None
        self._arenas.append(arena)
        return tuple([found[name] for name in wanted])


def _without_tensors(node: Node) -> Node:
    """Return a node without its tensors and graphs, which would be in memory twice."""
    plain = {k: one for k, one in node.attributes.items() if not isinstance(one, np.ndarray | Branch)}
    return node._replace(attributes=plain)
