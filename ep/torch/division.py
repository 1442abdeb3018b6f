"""The division of a graph into sections, and steps that PyTorch computes between them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.fx import Node

from ep.torch.sizing import Sizing
from ep.torch.table import OPERATORS
from ep.torch.tensors import refusal, tensors_in


class Part(NamedTuple):
    """Nodes that one program computes. inputs: the nodes that it reads. results: those that others need of it."""

    nodes: Sequence[Node]
    inputs: Sequence[Node]
    results: Sequence[Node]


class Division:
    """What computes each node of a graph. Views, which take no time, are computed by all that need them.

    steps: in their order: a Part, or a node that PyTorch computes. eager: the nodes that it computes, and why.
    """

    def __init__(
        self, nodes: Sequence[Node], wanted: Iterable[Any], sizing: Sizing, refused: Mapping[Node, Exception]
    ) -> None:
        """nodes: in their order. wanted: the results. refused: nodes that PyTorch must compute."""
        self._sizing, self._refused = sizing, refused
        self._rank = {node: k for k, node in enumerate(nodes)}
        self._sources: dict[Node, dict[Node, None]] = {}  # by views, what they are views of
        self.eager: dict[Node, str] = {}
        steps, section = list[dict[Node, None] | Node](), dict[Node, None]()
        sections: dict[Node, dict[Node, None]] = {}  # by the nodes that they compute
        for node in nodes:
            if node.op != "call_function" or node in sizing.numbers:
                continue
            sources, whole = self._sources_of(node.all_input_nodes), whole_of(node)
            if whole in sections:
                sections[whole][node] = None
                sections[node] = sections[whole]
                continue
            if whole in self._sources or self._is_view(node):
                self._sources[node] = sources
                continue
            why = self._reason(node) if whole is None else ""
            if why is None:
                section[node] = None
                sections[node] = section
                continue
            if (whole is None and _writes(node)) or not sources.keys().isdisjoint(section):
                steps.append(section)
                section = {}
            steps.append(node)
            if why:
                self.eager[node] = why
        needed, self.steps = self._sources_of(wanted), list[Part | Node]()
        for one in reversed([*steps, section]):
            step = one if isinstance(one, Node) else self._part(one, needed)
            needed |= self._sources_of(step.all_input_nodes if isinstance(step, Node) else step.inputs)
            if isinstance(step, Node) or step.results:
                self.steps.insert(0, step)

    def _sources_of(self, nodes: Iterable[Any]) -> dict[Node, None]:
        """Return what nodes are, or are views of. Numbers are known."""
        found = dict[Node, None]()
        for node in nodes:
            if isinstance(node, Node) and node not in self._sizing.numbers:
                found |= self._sources.get(node, {node: None})
        return found

    def _is_view(self, node: Node) -> bool:
        if not getattr(node.target, "is_view", False) or node.target not in OPERATORS or node in self._refused:
            return False
        return all(self._sizing.of(one) is not None for one in (node, *node.all_input_nodes))

    def _reason(self, node: Node) -> str | None:
        """Return why PyTorch computes a node; None if a section does, and "" if there is nothing to compute."""
        sizes = self._sizing.of(node)
        if sizes and all(0 in shape for shape, _ in sizes):
            return ""  # PyTorch alone knows the strides of a tensor without elements
        if node.target not in OPERATORS:
            return "it draws numbers from PyTorch's generator" if is_random(node) else "ep has no operator for it"
        if node in self._refused:
            error = self._refused[node]
            return f"{type(error).__name__}: {error}"
        for one in (node, *node.all_input_nodes):
            for tensor in tensors_in(one.meta.get("val")):
                if why := refusal(tensor):
                    return why
            if self._sizing.of(one) is None:
                return "its shape depends on data"
        return None if sizes else "its result is no tensor"

    def _part(self, section: Mapping[Node, None], needed: Mapping[Node, None]) -> Part:
        """Return the part that computes what is needed of a section, and the views that it reads."""
        found, inputs, results = set[Node](), set[Node](), [node for node in section if node in needed]
        todo = [*results]
        while todo:
            node = todo.pop()
            if node not in section and node not in self._sources:
                inputs.add(node)
            elif node not in found:
                found.add(node)
                todo += [one for one in node.all_input_nodes if one not in self._sizing.numbers]
        return Part(sorted(found, key=self._rank.__getitem__), sorted(inputs, key=self._rank.__getitem__), results)


def whole_of(node: Node) -> Any:
    """Return the node that a node is one of the results of; None if it is all of them."""
    return node.args[0] if node.target is operator.getitem else None


def is_random(node: Node) -> bool:
    """Return whether a node draws numbers from PyTorch's generator."""
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def _writes(node: Node) -> bool:
    """Return whether a node may write to its operands, or do anything else that others see."""
    schema = getattr(node.target, "_schema", None)
    return schema is None or schema.is_mutable
