"""What a forward graph keeps for its backward graph: small tensors of one shape and type are kept as one."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Sequence
from typing import Any, Final

import torch
from functorch.compile import min_cut_rematerialization_partition
from torch.fx import GraphModule, Node

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
    end, count = forward.graph.output_node(), given["num_fwd_outputs"]
    returned, kept = end.args[0][:count], [*end.args[0][count:]]
    alike: dict[Hashable, list[Node]] = {}
    for node in dict.fromkeys(kept):
        alike.setdefault((node not in returned and _kind(node)) or node, []).append(node)
    readers = {node.name: node for node in backward.graph.find_nodes(op="placeholder")}
    first_step = next(node for node in backward.graph.nodes if node.op != "placeholder")
    for parts in alike.values():
        if len(parts) == 1:
            continue
        first, said = readers[parts[0].name], [node.meta["val"] for node in parts]
        with forward.graph.inserting_before(end), backward.graph.inserting_before(first), said[0].fake_mode:
            stack = forward.graph.call_function(aten.stack.default, (parts,))
            whole = backward.graph.placeholder(f"kept_{stack.name}")
            stack.meta["val"] = torch.stack(said)
            whole.meta = {**first.meta, "val": stack.meta["val"]}
        for k, node in enumerate(parts):
            reader = readers[node.name]
            with backward.graph.inserting_before(first_step):
                found = backward.graph.call_function(aten.select.int, (whole, 0, k))
            found.meta = reader.meta
            reader.replace_all_uses_with(found)
            backward.graph.erase_node(reader)
        kept = [stack if node is parts[0] else node for node in kept if node not in parts[1:]]
    end.args = ((*returned, *kept),)
    forward.recompile()
    backward.recompile()
    return forward, backward


def _kind(node: Node) -> Hashable:
    """Return what distinguishes tensors that cannot be kept as one; None for what is kept by itself."""
    said, source = node.meta.get("val"), node.args[0] if node.target is operator.getitem else node
    if not isinstance(said, torch.Tensor) or source.target not in OPERATORS or refusal(said):
        return None
    sizes = [size if isinstance(size, int) else size.node.hint for size in said.shape]  # those when it was traced
    if None in sizes or math.prod(sizes) * said.itemsize > _MOST_BYTES or not said.is_contiguous():
        return None
    return said.dtype, str(said.shape), node.meta.get("saved_tensor_with_no_vc_check", False)
