"""The graph of a model, and the plans that are made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ep.common.progress import Progress
from ep.expressions.memory import Arenas
from ep.expressions.runs import Keep, Runs
from ep.garbage import garbage_waits
from ep.include.device_type import DeviceType
from ep.onnx.constants import ModelConstants
from ep.onnx.folding import folded
from ep.onnx.graph import Branch, Node, graph_of
from ep.onnx.planned import Planned
from ep.onnx.reading import read
from ep.onnx.source import Source
from ep.onnx.specialized import SpecializedGraph


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
        self._known = ModelConstants(graph, device_type)  # it alone keeps the constants
        self._arenas, self._has_planned = Arenas(), False

    def runs(self, wanted: Sequence[str], given: Mapping[str, Any], keep: Keep, *told: Progress) -> Runs:
        """Return the runs of a new plan. given: the inputs, by name. keep: keeps the launches of the plan."""
        with garbage_waits():
            plan = self._plan(wanted, given, *told)
        may_keep = self._is_whole and plan.is_one_program
        at_once, self._has_planned = not self._has_planned, True
        return Runs(plan, self._arenas, keep if may_keep else None, at_once=at_once)

    def explain(self, given: Mapping[str, Any]) -> str:
        """Return a description of the plan for all outputs. given: the inputs, by name."""
        constants = sum(one.nbytes for one in self._known.constants.values())
        lines = [f"nodes: {len(self.nodes)}; left when the model is loaded: {len(self._left)}"]
        lines.append(f"constants: {constants:,} bytes")
        return "\n".join([*lines, self._plan([one.name for one in self.signatures[1]], given).explain()])

    def _plan(
        self, wanted: Sequence[str], given: Mapping[str, Any], progress: Progress | None = None
    ) -> SpecializedGraph:
        return SpecializedGraph(Planned(self._known, self._left, {}, given, wanted, progress))


def _without_tensors(node: Node) -> Node:
    """Return a node without its tensors and graphs, which would be in memory twice."""
    plain = {k: one for k, one in node.attributes.items() if not isinstance(one, np.ndarray | Branch)}
    return node._replace(attributes=plain)
