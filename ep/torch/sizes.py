"""The sizes of a graph's values: a graph with symbols in their places becomes one for inputs of certain sizes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

import sympy
import torch
from torch.fx import Graph, Node

from ep.torch.tensors import tensors_in, values_in

_NUMBERS: Final = bool, int, float


def _sizes_of(value: Any) -> list[Any]:
    """Return the numbers that the traced value of a node has: sizes and strides, or the number that it is."""
    return [*value.shape, *value.stride()] if isinstance(value, torch.Tensor) else [value]


class Sizes:
    """A graph, and the symbols of PyTorch that the sizes of its tensors depend on. A number that has others is data.

    placeholders: the nodes of the inputs. vary: whether sizes of inputs vary.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.placeholders = [node for node in graph.nodes if node.op == "placeholder"]
        tensors = [tensor for node in graph.nodes for tensor in tensors_in(node.meta.get("val"))]
        sizes = [size for tensor in tensors for size in _sizes_of(tensor) if isinstance(size, torch.SymInt)]
        self._symbols = {symbol for size in sizes for symbol in size.node.expr.free_symbols}
        self._varying = [k for k, node in enumerate(self.placeholders) if self._varies(node.meta.get("val"))]
        self.vary = self._varying != []

    def _varies(self, value: Any) -> bool:
        if isinstance(value, torch.SymInt):
            return bool(value.node.expr.free_symbols <= self._symbols)
        return type(value) in _NUMBERS or any(isinstance(size, torch.SymInt) for size in _sizes_of(value))

    def key(self, args: Sequence[Any]) -> Hashable:
        """Return what distinguishes plans: the sizes of inputs that vary."""
        given = [args[k] for k in self._varying]
        return tuple([(one.shape, one.stride()) if isinstance(one, torch.Tensor) else one for one in given])

    def graph(self, args: Sequence[Any]) -> Graph:
        """Return the graph for inputs of certain sizes, with the numbers that follow from these in their places.

        args: the inputs, or what PyTorch traced the graph with. The nodes have in `meta` the key "sizes", for shape and
        strides in elements of each result, [] for what is no tensor, or None if they depend on data; "traced" for the
        node that each is made of; and "kind" for the type of an input.
        """
        given, known, made = dict(zip(self.placeholders, args, strict=True)), dict[Any, Any](), dict[Node, Any]()
        for node, one in given.items():
            for size, number in zip(_sizes_of(node.meta.get("val")), _sizes_of(one), strict=False):  # it may be None
                if isinstance(size, torch.SymInt) and size.node.expr in self._symbols and number is not None:
                    known[size.node.expr] = sympy.Integer(int(number))

        def number_of(size: Any) -> Any:
            found = size.node.expr.xreplace(known) if isinstance(size, torch.SymInt) else size
            return int(found) if getattr(found, "is_Integer", False) else size

        def sizes_of(some: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(map(number_of, some))

        graph = Graph()
        for node in self._graph.nodes:
            copy, said = graph.node_copy(node, made.__getitem__), node.meta.get("val")
            sizes = [
                [*map(sizes_of, (one.shape, one.stride()))] if isinstance(one, torch.Tensor) else []
                for one in values_in(said)
            ]
            is_known = all(type(size) is int for pair in sizes for some in pair for size in some)
            copy.meta |= {"sizes": sizes if is_known else None, "traced": node, "kind": type(given.get(node))}
            number = given[node] if node in given and type(said) in _NUMBERS else number_of(said)
            made[node] = number if type(number) in _NUMBERS else copy
        return graph
