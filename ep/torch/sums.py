"""Sums of products of narrow matrices, as one product of joined matrices: A B + C D is [A C] times B over D.

The gradient of a weight that a recurrent network uses in each step is such a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch
from torch.fx import Graph, Node

from ep.torch.sizing import sizes_when_traced
from ep.torch.table import aten

_LEAST: Final = 4
"""The fewest products that are joined."""
_TIMES: Final = 4
"""How many times as many elements a product must have as its operands: these are copied then."""


def join_products(graph: Graph) -> None:
    """Compute sums of products of narrow matrices as one product each. The graph keeps nodes that nothing reads."""
    seen = set[Node]()
    for node in reversed(graph.nodes):
        if node in seen or not _is_sum(node):
            continue
        products, others, todo = list[tuple[Node, bool]](), list[Node](), [*node.args]
        while todo:
            one: Any = todo.pop()
            if found := _product(one):
                products.append(found)
            elif _is_sum(one) and len(one.users) == 1:
                seen.add(one)
                todo += one.args
            else:
                others.append(one)
        if len(products) < _LEAST or len({is_exchanged for _, is_exchanged in products}) > 1:
            continue
        with graph.inserting_before(node), node.meta["val"].fake_mode:
            made = _joined(graph, [one.args for one, _ in products], products[0][1])
            for one in others:
                made = _called(graph, aten.add.Tensor, made, one)
        made.meta = node.meta
        node.replace_all_uses_with(made)


def _is_sum(node: Node) -> bool:
    """Return whether a node adds matrices of one shape and type, which is not rounded to 16 bits."""
    if node.target is not aten.add.Tensor or node.kwargs or not all(isinstance(one, Node) for one in node.args):
        return False
    said, *given = (one.meta["val"] for one in (node, *node.args))
    is_wide = said.dtype in (torch.float32, torch.float64) and said.dim() == 2
    return is_wide and all(one.shape == said.shape and one.dtype is said.dtype for one in given)


def _product(node: Node) -> tuple[Node, bool] | None:
    """Return the product of narrow matrices that a node is, and whether it has exchanged axes; None if it is none, or
    if something else reads it."""
    is_exchanged = False
    while len(node.users) == 1 and (source := _before_exchange(node)):
        node, is_exchanged = source, not is_exchanged
    if node.target is not aten.mm.default or len(node.users) > 1:
        return None
    (rows, inner), (_, columns) = (sizes_when_traced(one.meta["val"]) for one in node.args)
    if None in (rows, inner, columns) or _TIMES * inner * (rows + columns) > rows * columns:
        return None
    return node, is_exchanged


def _before_exchange(node: Node) -> Node | None:
    """Return the matrix of which a node is the transposed one; None if it is none."""
    if node.target is aten.permute.default and [axis % 2 for axis in node.args[1]] == [1, 0]:
        return node.args[0]
    return None


def _joined(graph: Graph, operands: Sequence[Any], is_exchanged: bool) -> Node:
    first, second = (_side(graph, some, axis) for some, axis in zip(zip(*operands, strict=True), (1, 0), strict=True))
    if is_exchanged:
        first, second = (_exchanged(graph, one) for one in (second, first))
    return _called(graph, aten.mm.default, first, second)


def _side(graph: Graph, matrices: Sequence[Node], axis: int) -> Node:
    """Return matrices joined along an axis. Transposed ones are joined before."""
    before = [_before_exchange(one) for one in matrices]
    if all(before):
        return _exchanged(graph, _called(graph, aten.cat.default, before, 1 - axis))
    return _called(graph, aten.cat.default, [*matrices], axis)


def _exchanged(graph: Graph, matrix: Node) -> Node:
    return _called(graph, aten.permute.default, matrix, [1, 0])


def _called(graph: Graph, target: Any, *args: Any) -> Node:
    """Add the call of an operator to a graph."""
    node = graph.call_function(target, args)
    node.meta["val"] = target(*torch.fx.node.map_arg(args, lambda one: one.meta["val"]))
    return node
