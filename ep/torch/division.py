"""The division of a graph into sections, and steps that PyTorch computes between them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import torch
from torch.fx import Node

from ep.torch.sizing import Sizing
from ep.torch.table import OPERATORS, aten
from ep.torch.tensors import DTYPES, Layout, refusal, tensors_in

_VIEWS: Final = {
    aten.alias.default, aten.detach.default, aten.expand.default, aten.permute.default, aten.select.int,
    aten.slice.Tensor, aten.split.Tensor, aten.split_with_sizes.default, aten.squeeze.default, aten.squeeze.dim,
    aten.squeeze.dims, aten.unsqueeze.default, aten.view.default,
}  # fmt: skip
"""The operators whose results are in the memory of their first operand: PyTorch makes them in no time."""
_NUMBERS: Final = (bool, int, float, torch.SymBool, torch.SymInt, torch.SymFloat)


class EagerStep(NamedTuple):
    """A node that PyTorch computes, and why. is_random: whether it draws numbers from PyTorch's generator."""

    name: str
    operator: str
    reason: str
    is_random: bool


class Part(NamedTuple):
    """Nodes that one program computes. inputs: the nodes that it reads. results: those that others need of it."""

    nodes: Sequence[Node]
    inputs: Sequence[Node]
    results: Sequence[Node]


class Division:
    """What computes each node of a graph.

    numbers: the nodes that are numbers and known now. steps: in their order: a Part, or a node that PyTorch computes.
    eager: what PyTorch computes, views left out.
    """

    def __init__(self, nodes: Sequence[Node], wanted: Sequence[Any], sizing: Sizing, args: Sequence[Any],
                 refused: Mapping[Node, Exception]) -> None:  # fmt: skip
        """nodes: in their order. wanted: the results. args: the inputs. refused: nodes that PyTorch must compute."""
        self._sizing, self._refused = sizing, refused
        self._rank = {node: k for k, node in enumerate(nodes)}
        self.numbers: dict[Node, Any] = {}
        for node, given in zip(sizing.symbols.placeholders, args, strict=True):
            if type(node.meta.get("val")) in (bool, int, float):
                self.numbers[node] = given
        self._why: dict[Node, str] = {}
        self._times: dict[Node, int] = {}  # odd: of a section; even: of PyTorch's steps before the next section
        self._note(nodes)
        self._by_torch: dict[Node, int] = {}  # the nodes that PyTorch computes, by their times
        self._results: dict[int, dict[Node, None]] = {}  # of sections, by their times
        self._needed: dict[Node, list[Node | None]] = {}  # by nodes, the views that need them; None stands for others
        for node in self._why:
            self._by_torch[node] = self._times[node]
        for node in (*wanted, *(source for one in self._why for source in one.all_input_nodes)):
            self._need(node)
        times = range(max(self._times.values(), default=0), 0, -1)
        parts = {time: self._part(time) for time in times if time % 2}  # the last first: it needs results of others
        ends: list[tuple[int, int, Any]] = [(time, 0, part) for time, part in parts.items() if part.results]
        ends += [(time, self._rank[node], node) for node, time in self._by_torch.items()]
        self.steps = [step for *_, step in sorted(ends, key=lambda end: end[:2])]
        self.eager = [
            EagerStep(node.name, str(node.target), why, _is_random(node)) for node, why in self._why.items() if why
        ]

    def _note(self, nodes: Sequence[Node]) -> None:
        """Find out what computes each node, and when."""
        least = last = 0  # the time of the last node that writes to its operands, and of the last one with an order
        for node in nodes:
            if node.op == "output":
                continue
            said = node.meta.get("val")
            if node.op in ("placeholder", "get_attr"):
                self._times[node] = 0
            if node in self.numbers or (isinstance(said, _NUMBERS) and self._is_known(node, said)):
                continue
            if node in self._times:
                continue
            before = max([self._times[one] for one in node.all_input_nodes if one not in self.numbers], default=0)
            if node.target is operator.getitem and node.args[0] in self._times:
                source = node.args[0]
                self._times[node] = self._times[source]
                if source in self._why:
                    self._why[node] = ""
                continue
            if self._is_view(node):
                self._times[node] = before
                continue
            time, why = max(before, least), self._reason(node)
            if why is None:
                self._times[node] = time + (time % 2 == 0)
                continue
            time += time % 2
            if _is_ordered(node):
                time = last = max(last, time)
            if _writes(node):
                time = least = last = max([time, *(one + one % 2 for one in self._times.values())])
            self._times[node], self._why[node] = time, why

    def _is_known(self, node: Node, said: Any) -> bool:
        """Note the value of a number, if it follows from sizes."""
        if isinstance(said, torch.SymInt) and not self._sizing.symbols.is_size(said):
            return False
        if isinstance(said, torch.SymBool | torch.SymFloat):
            return False
        try:
            self.numbers[node] = self._sizing.number(said) if isinstance(said, torch.SymInt) else said
        except ValueError:
            return False
        return True

    def _is_view(self, node: Node) -> bool:
        return node.target in _VIEWS and node not in self._refused and self._sizing.of(node) is not None

    def _reason(self, node: Node) -> str | None:
        """Return why PyTorch computes a node; None if a section does, and "" if there is nothing to compute."""
        sizes = self._sizing.of(node)
        if sizes and all(0 in shape for shape, _ in sizes):
            return ""  # PyTorch alone knows the strides of a tensor without elements
        if node.target not in OPERATORS:
            return "it draws numbers from PyTorch's generator" if _is_random(node) else "ep has no operator for it"
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

    def _need(self, node: Any, view: Node | None = None) -> None:
        """Note that a value is needed as a tensor of PyTorch. view: the view that needs it; None for anything else."""
        if not isinstance(node, Node) or node in self.numbers:
            return
        self._needed.setdefault(node, []).append(view)
        if node in self._by_torch:
            return
        time = self._times[node]
        if self._is_tensor_view(node):
            self._by_torch[node] = time + time % 2
            for source in node.all_input_nodes:
                self._need(source, node)
        elif time % 2:
            self._results.setdefault(time, {})[node] = None

    def _as_needed(self, node: Node) -> Node:
        """Return what a section gives for one of its results: if a view is all that is needed of it, and has all
        elements, the view."""
        while len(needed := self._needed[node]) == 1 and (view := needed[0]) and self._has_all_elements(view, node):
            del self._by_torch[view]
            node = view
        return node

    def _has_all_elements(self, view: Node, node: Node) -> bool:
        """Return whether a view of a tensor is a tensor with each element once."""
        said = view.meta["val"]
        if not isinstance(said, torch.Tensor):
            return False
        (shape, strides), (whole, _) = (one for each in (view, node) for one in self._sizing.of(each) or ())
        layout = Layout(DTYPES[said.dtype], shape, strides)
        return layout.is_view and math.prod(layout.shape) == math.prod(shape) == math.prod(whole)

    def _is_tensor_view(self, node: Node) -> bool:
        """Return whether a value is a view, or one of the views that an operator returns."""
        return self._is_view(node) or (node.target is operator.getitem and self._is_view(node.args[0]))

    def _part(self, time: int) -> Part:
        """Return the part of a time; what it reads is needed."""
        results = [*map(self._as_needed, self._results.get(time, ()))]
        found, inputs, todo = set[Node](), dict[Node, None](), [*results]
        while todo:
            node = todo.pop()
            if node in found or node in self.numbers:
                continue
            is_at_hand = node in self._by_torch or (node.target is operator.getitem and node.args[0] in self._by_torch)
            if self._times[node] == time or (self._is_tensor_view(node) and not is_at_hand):
                found.add(node)
                todo += node.all_input_nodes
            else:
                inputs[node] = None
        for node in inputs:
            self._need(node)
        by_rank: Callable[[Node], int] = self._rank.__getitem__
        return Part(sorted(found, key=by_rank), sorted(inputs, key=by_rank), results)


def _is_random(node: Node) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def _writes(node: Node) -> bool:
    """Return whether a node may write to its operands, or do anything else that others see."""
    schema = getattr(node.target, "_schema", None)
    return schema is None or schema.is_mutable


def _is_ordered(node: Node) -> bool:
    return _is_random(node) or _writes(node)


def last_uses(steps: Sequence[tuple[Sequence[Node], Sequence[Node]]], kept: Iterable[Any]) -> list[list[Node]]:
    """Return for each step the values that none of the later ones reads. steps: what each reads and makes."""
    found, seen = list[list[Node]](), {one for one in kept if isinstance(one, Node)}
    for read, made in reversed(steps):
        ends = [node for node in dict.fromkeys((*read, *made)) if node not in seen]
        seen.update(ends)
        found.append(ends)
    return found[::-1]
