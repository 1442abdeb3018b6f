"""The sizes of a graph's values for certain inputs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any, Final

import sympy
import torch
from torch.fx import Graph, Node

from ep.torch.tensors import tensors_in

Sizes = tuple[tuple[int, ...], tuple[int, ...]]
"""The shape of a tensor, and its strides in elements."""
_NUMBERS: Final = (bool, int, float)


def _sizes_of(value: Any) -> list[Any]:
    """Return the numbers that the traced value of a node has: sizes and strides, or the number that it is."""
    return [*value.shape, *value.stride()] if isinstance(value, torch.Tensor) else [value]


class Symbols:
    """The symbols of PyTorch that the sizes of a graph's tensors depend on. A number that is none of them is data.

    said: what PyTorch traced each node with. vary: whether sizes of inputs vary.
    """

    def __init__(self, graph: Graph) -> None:
        self.said = {node: node.meta.get("val") for node in graph.nodes if node.op != "output"}
        self.placeholders = [node for node in self.said if node.op == "placeholder"]
        tensors = [tensor for value in self.said.values() for tensor in tensors_in(value)]
        sizes = [size for tensor in tensors for size in _sizes_of(tensor) if isinstance(size, torch.SymInt)]
        self._of_sizes = {symbol for size in sizes for symbol in size.node.expr.free_symbols}
        self._varying = [k for k, node in enumerate(self.placeholders) if self._varies(self.said[node])]
        self.vary = self._varying != []

    def _varies(self, value: Any) -> bool:
        if isinstance(value, torch.Tensor):
            return any(isinstance(size, torch.SymInt) for size in _sizes_of(value))
        return type(value) in _NUMBERS or self.is_size(value)

    def is_size(self, value: Any) -> bool:
        """Return whether a number follows from sizes."""
        return isinstance(value, torch.SymInt) and value.node.expr.free_symbols <= self._of_sizes

    def key(self, args: Sequence[Any]) -> Hashable:
        """Return what distinguishes plans: the sizes of inputs that vary."""
        given = [args[k] for k in self._varying]
        return tuple([(one.shape, one.stride()) if isinstance(one, torch.Tensor) else one for one in given])


class Sizing:
    """The sizes for certain inputs. numbers: the nodes that are numbers and known."""

    def __init__(self, symbols: Symbols, args: Sequence[Any]) -> None:
        """args: the inputs, or what PyTorch traced the graph with."""
        self._symbols: dict[Any, sympy.Integer] = {}
        self._known: dict[Node, list[Sizes] | None] = {}
        self.numbers: dict[Node, Any] = {}
        for node, given in zip(symbols.placeholders, args, strict=True):
            said = symbols.said[node]
            if type(said) in _NUMBERS:
                self.numbers[node] = given
            for size, number in zip(_sizes_of(said), _sizes_of(given), strict=False):  # an input may be None
                if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol and number is not None:
                    self._symbols[size.node.expr] = sympy.Integer(int(number))
        for node, said in symbols.said.items():
            if node not in self.numbers and (type(said) in _NUMBERS or symbols.is_size(said)):
                with suppress(ValueError):
                    self.numbers[node] = self._number(said)

    def _number(self, size: Any) -> Any:
        """Return a size as an int. Raises ValueError if it depends on data."""
        if not isinstance(size, torch.SymInt):
            return size
        found = size.node.expr.xreplace(self._symbols)
        if not found.is_number:
            raise ValueError(f"the size {size} depends on data")
        return int(found)

    def of(self, node: Node) -> list[Sizes] | None:
        """Return the sizes of a node's tensors: none for a number. The result is None if they depend on data."""
        if node not in self._known:
            self._known[node] = None
            with suppress(ValueError):
                self._known[node] = [
                    (tuple(map(self._number, tensor.shape)), tuple(map(self._number, tensor.stride())))
                    for tensor in tensors_in(node.meta.get("val"))
                ]
        return self._known[node]
