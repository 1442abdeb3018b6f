"""The graph of a model, and the plans that are made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from ep.common.progress import Progress
from ep.expressions.named_program import NamedProgram
from ep.expressions.runner import Keep
from ep.garbage import garbage_waits
from ep.include.device_type import DeviceType
from ep.include.errors import LackingError
from ep.onnx.constants import ModelConstants
from ep.onnx.folding import folded
from ep.onnx.graph import Branch, Node, graph_of
from ep.onnx.inlining import types_of, without_tensors
from ep.onnx.lacking import lacking
from ep.onnx.planned import Planned
from ep.onnx.reading import read
from ep.onnx.source import Source
from ep.onnx.specialized import SpecializedGraph


class Planner:
    """A checked model on a device.

    signatures: of its inputs and its outputs. texts: what outputs stand for that are strings or maps. nodes: as the
    file has them, without their tensors and graphs.
    """

    def __init__(self, source: Source, device_type: DeviceType, otherwise: DeviceType | None) -> None:
        """Read a model; raises the errors of `load`."""
        model, self._is_whole = read(source)
        graph = graph_of(model)
        self.signatures, self.texts = (graph.inputs, graph.outputs), graph.texts
        self.nodes = tuple(map(_without_tensors, graph.nodes))
        graph = folded(graph)
        self._left = graph.nodes
        self._types = cache(partial(types_of, without_tensors(model)))
        self._known = ModelConstants(graph, device_type, otherwise)  # it alone keeps the constants
        self._has_planned = False

    def new_plan(
        self, wanted: Sequence[str], given: Mapping[str, Any], keep: Keep, *told: Progress
    ) -> NamedProgram | SpecializedGraph:
        """Return a new plan. given: the inputs, by name. keep: keeps its launches, if they are all that it does."""
        with garbage_waits():
            planned = Planned(self._known, self._left, {}, given, wanted, *told)
        at_once, self._has_planned = not self._has_planned, True
        if not planned.is_whole:
            return SpecializedGraph(planned)
        planned.named.kept_by(keep if self._is_whole else None, at_once)
        return planned.named

    def check(self, given: Mapping[str, Any]) -> None:
        """Raise LackingError, which lists all kernels that the device lacks for all outputs, or another error of
        planning. given: the inputs, by name. What the sizes of follow from data is checked with assumed ones."""
        wanted, operators = [one.name for one in self.signatures[1]], dict[str, dict[str, None]]()
        if found := [*lacking(self._known, self._types, self._left, {}, given, wanted)]:
            raised = LackingError(self._known.device_type.tag, found)
            for name, reasons in (pair for one in found for pair in one.operators.items()):
                operators.setdefault(name, {}).update(dict.fromkeys(reasons))
            raised.operators = {name: [*reasons] for name, reasons in operators.items()}
            raise raised

    def explain(self, given: Mapping[str, Any]) -> str:
        """Return a description of the plan for all outputs. given: the inputs, by name."""
        constants = sum(one.nbytes for one in self._known.constants.values())
        lines = [f"nodes: {len(self.nodes)}; left when the model is loaded: {len(self._left)}"]
        lines.append(f"constants: {constants:,} bytes")
        return "\n".join([*lines, self._planned(given).explain()])

    def _planned(self, given: Mapping[str, Any]) -> Planned:
        return Planned(self._known, self._left, {}, given, [one.name for one in self.signatures[1]])


def _without_tensors(node: Node) -> Node:
    """Return a node without its tensors and graphs, which would be in memory twice."""
    plain = {k: one for k, one in node.attributes.items() if not isinstance(one, np.ndarray | Branch)}
    return node._replace(attributes=plain)
