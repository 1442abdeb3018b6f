"""What a forward graph keeps for its backward graph: small tensors of one shape and type are kept as one."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Sequence
from typing import Any, Final

import torch
from functorch.compile import min_cut_rematerialization_partition
from torch.fx import GraphModule, Node

from ep.torch.sizing import sizes_when_traced
from ep.torch.sums import join_products
from ep.torch.table import OPERATORS, aten
from ep.torch.tensors import refusal

_MOST_BYTES: Final = 2**14
"""The bytes of the largest tensor that is copied: one that is kept by itself takes about 3 us of each call."""


def partition(joint: GraphModule, inputs: Sequence[Any], **given: Any) -> tuple[GraphModule, GraphModule]:
    """Return the forward and the backward graph of a joint one. The backward graph computes again what is cheap.

    inputs, given: as AOTAutograd passes them. The forward graph returns `num_fwd_outputs` results, and then what it
    keeps; the backward graph reads that by the same names, in the same order.
    """
    forward, backward = min_cut_rematerialization_partition(joint, inputs, **given)
    (end,) = forward.graph.find_nodes(op="output")
    count = given["num_fwd_outputs"]
    returned, kept = end.args[0][:count], [*end.args[0][count:]]
    alike: dict[Hashable, list[Node]] = {}
    for node in dict.fromkeys(kept):
        kind = None if node in returned else _kind(node)
        alike.setdefault(node if kind is None else kind, []).append(node)
    readers = {node.name: node for node in backward.graph.find_nodes(op="placeholder")}
    for first, *others in alike.values():
        if others:
            with forward.graph.inserting_before(end):
                stack = forward.graph.call_function(aten.stack.default, ([first, *others],))
            with first.meta["val"].fake_mode:
                stack.meta["val"] = torch.stack([node.meta["val"] for node in (first, *others)])
            _select(backward, stack, [readers[node.name] for node in (first, *others)])
            dropped = {*others}
            kept = [stack if node is first else node for node in kept if node not in dropped]
    end.args = ((*returned, *kept),)
    join_products(backward.graph)
    forward.recompile()
    backward.recompile()
    return forward, backward


def _kind(node: Node) -> Hashable:
    """Return what distinguishes tensors that cannot be kept as one; None for what is kept by itself."""
    said, source = node.meta.get("val"), node.args[0] if node.target is operator.getitem else node
    if not isinstance(said, torch.Tensor) or source.target not in OPERATORS or refusal(said):
        return None
    sizes = sizes_when_traced(said)
    if None in sizes or math.prod(sizes) * said.itemsize > _MOST_BYTES or not said.is_contiguous():
        return None
    return said.dtype, str(said.shape), node.meta.get("saved_tensor_with_no_vc_check", False)


def _select(backward: GraphModule, stack: Node, parts: Sequence[Node]) -> None:
    """Have a backward graph read parts of a stack in place of inputs."""
    graph = backward.graph
    with graph.inserting_before(parts[0]):
        whole = graph.placeholder(f"kept_{stack.name}")
    whole.meta = {**parts[0].meta, "val": stack.meta["val"]}
    (first, *_) = (node for node in graph.nodes if node.op != "placeholder")
    for k, part in enumerate(parts):
        with graph.inserting_before(first):
            found = graph.call_function(aten.select.int, (whole, 0, k))
        found.meta = part.meta
        part.replace_all_uses_with(found)
        graph.erase_node(part)
