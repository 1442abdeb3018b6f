"""The sizes of a graph's values for certain inputs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import sympy
import torch
from torch.fx import Graph, Node

from ep.torch.tensors import tensors_in

Sizes = tuple[tuple[int, ...], tuple[int, ...]]
"""The shape of a tensor, and its strides in elements."""


def sizes_when_traced(tensor: torch.Tensor) -> list[Any]:
    """Return the sizes of a tensor with which a graph was traced; None for those that depended on data."""
    return [size if isinstance(size, int) else size.node.hint for size in tensor.shape]


class Symbols:
    """The symbols of PyTorch that the sizes of a graph's tensors depend on. A number that is none of them is data."""

    def __init__(self, graph: Graph) -> None:
        self.placeholders = [node for node in graph.nodes if node.op == "placeholder"]
        self._of_sizes = {
            symbol
            for node in graph.nodes
            for tensor in tensors_in(node.meta.get("val"))
            for size in (*tensor.shape, *tensor.stride())
            if isinstance(size, torch.SymInt)
            for symbol in size.node.expr.free_symbols
        }
        self._readers = [(k, reader) for k, node in enumerate(self.placeholders) if (reader := self._reader(node))]

    def key(self, args: Sequence[Any]) -> Hashable:
        """Return what distinguishes plans: the sizes of inputs that vary."""
        return tuple([read(args[k]) for k, read in self._readers]) if self._readers else ()

    def _reader(self, node: Node) -> Callable[[Any], Hashable] | None:
        """Return the function that reads the varying part of an input; None if it has none."""
        said = node.meta.get("val")
        if isinstance(said, torch.Tensor):
            varies = any(isinstance(size, torch.SymInt) for size in (*said.shape, *said.stride()))
            return (lambda tensor: (tensor.shape, tensor.stride())) if varies else None
        return (lambda number: number) if self.is_size(said) or type(said) in (bool, int, float) else None

    @staticmethod
    def traced(node: Node) -> Any:
        """Return an input as the graph was traced: numbers in the place of sizes that vary."""
        said = node.meta.get("val")
        if isinstance(said, torch.SymInt | torch.SymFloat):
            return said.node.hint
        if not isinstance(said, torch.Tensor):
            return said
        sizes, strides = ([int(size) for size in some] for some in (said.shape, said.stride()))
        return torch.empty_strided(sizes, strides, dtype=said.dtype, device="meta")

    def is_size(self, value: Any) -> bool:
        """Return whether a number follows from sizes."""
        return isinstance(value, torch.SymInt) and value.node.expr.free_symbols <= self._of_sizes


class Sizing:
    """The sizes for certain inputs."""

    def __init__(self, symbols: Symbols, args: Sequence[Any]) -> None:
        self.symbols = symbols
        self._numbers: dict[Any, sympy.Integer] = {}
        self._known: dict[Node, list[Sizes] | None] = {}
        for node, given in zip(symbols.placeholders, args, strict=True):
            said = node.meta.get("val")
            if isinstance(said, torch.Tensor) and isinstance(given, torch.Tensor):
                self._bind([*said.shape, *said.stride()], [*given.shape, *given.stride()])
            elif isinstance(said, torch.SymInt):
                self._bind([said], [given])

    def _bind(self, said: Sequence[Any], given: Sequence[int]) -> None:
        for size, number in zip(said, given, strict=True):
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                self._numbers[size.node.expr] = sympy.Integer(number)

    def number(self, size: Any) -> int:
        """Return a size as an int. Raises ValueError if it depends on data."""
        if not isinstance(size, torch.SymInt):
            return int(size)
        found = size.node.expr.xreplace(self._numbers)
        if not found.is_number:
            raise ValueError(f"the size {size} depends on data")
        return int(found)

    def of(self, node: Node) -> list[Sizes] | None:
        """Return the sizes of a node's tensors: none for a number. The result is None if they depend on data."""
        if node not in self._known:
            try:
                self._known[node] = [
                    (tuple(map(self.number, tensor.shape)), tuple(map(self.number, tensor.stride())))
                    for tensor in tensors_in(node.meta.get("val"))
                ]
            except ValueError:
                self._known[node] = None
        return self._known[node]
