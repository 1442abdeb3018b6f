"""The division of a graph into sections, and steps that PyTorch computes between them."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import torch
from torch.fx import Graph, Node

from ep.torch.table import OPERATORS
from ep.torch.tensors import refusal, tensors_in

_STEP: Final = -1
"""The number of what is in no section, as that of a reader."""


class Part(NamedTuple):
    """Nodes that one program computes. inputs: the nodes that it reads. results: those that others need of it."""

    nodes: list[Node]
    inputs: list[Node]
    results: list[Node]


def divided(graph: Graph, refused: Mapping[str, Exception]) -> tuple[list[Part | Node], dict[Node, str]]:
    """Return what computes each node of a graph for certain sizes: parts and nodes that PyTorch computes, in their
    order; and why it does. Views, which take no time, are computed by all that need them.

    graph: without nodes that nothing needs. refused: the errors of nodes that PyTorch must compute, by name.
    """
    steps, eager, parts, views = list[Part | Node](), dict[Node, str](), [Part([], [], [])], set[Node]()
    section_of, last = dict[Node, int](), dict[Node, int]()  # last: the section that a node or its operands are in
    for node in graph.nodes:
        whole, present = whole_of(node), len(parts) - 1
        last[node] = max((last[one] for one in node.all_input_nodes), default=_STEP)
        if whole in section_of:
            section_of[node] = section_of[whole]
        elif whole in views or _is_view(node, refused):
            views.add(node)
        elif whole is not None or node.op != "call_function":
            continue
        elif (why := _reason(node, refused)) is None:
            section_of[node] = last[node] = present
        else:
            if last[node] == present or _writes(node):
                steps.append(parts[-1])
                parts.append(Part([], [], []))
            steps.append(node)
            if why:
                eager[node] = why
    steps.append(parts[-1])
    readers = defaultdict[Node, set[int]](set)  # the sections that read a node, also by a view of it, and steps
    for node in reversed(graph.nodes):
        if node not in views:
            for number in readers[node] - {_STEP}:
                parts[number].inputs.insert(0, node)
            if node in section_of and readers[node]:
                parts[section_of[node]].results.insert(0, node)
        for number in readers[node] if node in views else {section_of.get(node, _STEP)}:
            if number != _STEP:
                parts[number].nodes.insert(0, node)
            for one in node.all_input_nodes:
                if number != section_of.get(one):
                    readers[one].add(number)
    return [step for step in steps if isinstance(step, Node) or step.results], eager


def whole_of(node: Node) -> Any:
    """Return the node that a node is one of the results of; None if it is all of them."""
    return node.args[0] if node.target is operator.getitem else None


def is_random(node: Node) -> bool:
    """Return whether a node draws numbers from PyTorch's generator."""
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def _is_view(node: Node, refused: Collection[str]) -> bool:
    if not getattr(node.target, "is_view", False) or node.target not in OPERATORS or node.name in refused:
        return False
    return all(one.meta["sizes"] is not None for one in (node, *node.all_input_nodes))


def _reason(node: Node, refused: Mapping[str, Exception]) -> str | None:
    """Return why PyTorch computes a node; None if a section does, and "" if there is nothing to compute."""
    sizes = [*filter(None, node.meta["sizes"] or ())]
    if sizes and all(0 in shape for shape, _ in sizes):
        return ""  # PyTorch alone knows the strides of a tensor without elements
    if node.target not in OPERATORS:
        return "it draws numbers from PyTorch's generator" if is_random(node) else "ep has no operator for it"
    if error := refused.get(node.name):
        return f"{type(error).__name__}: {error}"
    for one in (node, *node.all_input_nodes):
        if why := next(filter(None, map(refusal, tensors_in(one.meta.get("val")))), ""):
            return why
        if one.meta["sizes"] is None:
            return "its shape depends on data"
    return None if sizes else "its result is no tensor"


def _writes(node: Node) -> bool:
    """Return whether a node may write to its operands, or do anything else that others see."""
    schema = getattr(node.target, "_schema", None)
    return schema is None or schema.is_mutable
