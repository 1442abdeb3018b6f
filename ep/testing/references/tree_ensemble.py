"""TreeEnsemble, node by node, and random trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.common.primitive.tree_nodes import NodeMode, Nodes
from ep.include.primitive import TreeAggregate
from ep.testing.arrays import Array, Rng

_COMPARED: Any = {
    NodeMode.LEQ: lambda x, t: x <= t,
    NodeMode.LT: lambda x, t: x < t,
    NodeMode.GTE: lambda x, t: x >= t,
    NodeMode.GT: lambda x, t: x > t,
    NodeMode.EQ: lambda x, t: x == t,
    NodeMode.NEQ: lambda x, t: x != t,
}


def tree_ensemble(op: TreeAggregate, x: Array, nodes: Nodes, roots: Array, num_targets: int) -> Array:
    """Return what the leaves that rows reach give each target."""
    out = np.zeros((len(x), num_targets), x.dtype)
    for row, found in zip(x, out, strict=True):
        weights: list[list[Any]] = [[] for _ in range(num_targets)]
        for root in roots.tolist():
            node = root
            while nodes.modes[node] != NodeMode.LEAF:
                feature = row[nodes.features[node]]
                is_true = _COMPARED[NodeMode(nodes.modes[node])](feature, nodes.thresholds[node])
                is_true = is_true or (np.isnan(feature) and nodes.nan_is_true[node])
                node = (nodes.on_true if is_true else nodes.on_false)[node]
            for k in np.flatnonzero(nodes.leaves == node):
                weights[nodes.targets[k]].append(nodes.weights[k])
        for target, each in enumerate(weights):
            if op is TreeAggregate.kSum:
                for weight in each:
                    found[target] += weight
            elif each:
                found[target] = min(each) if op is TreeAggregate.kMin else max(each)
    return out


def random_trees(rng: Rng, dtype: Any, sizes: tuple[int, int, int], num_targets: int) -> tuple[Nodes, Array]:
    """Return nodes and roots of random trees. sizes: the trees, the most leaves of each, and the features."""
    trees, most_leaves, features = sizes
    modes, children, roots = list[int](), list[tuple[int, int]](), list[int]()
    for _ in range(trees):
        roots.append(len(modes))
        ends = [len(modes)]
        modes.append(NodeMode.LEAF)
        children.append((0, 0))
        for _ in range(int(rng.integers(most_leaves))):
            node = ends.pop(int(rng.integers(len(ends))))
            modes[node], children[node] = int(rng.integers(1, 7)), (len(modes), len(modes) + 1)
            ends += children[node]
            modes += [NodeMode.LEAF] * 2
            children += [(0, 0)] * 2
    count = len(modes)
    thresholds = rng.normal(size=count).round(1).astype(dtype)
    special = rng.random(count) < 0.1
    thresholds[special] = rng.choice([np.inf, -np.inf, np.nan, 0.0, -0.0], int(special.sum()))
    ends = np.flatnonzero(np.array(modes) == NodeMode.LEAF).tolist()
    each = [rng.permutation(num_targets)[: 1 if num_targets == 1 else rng.integers(num_targets + 1)] for _ in ends]
    leaves = np.repeat(np.array(ends, np.int64), [len(one) for one in each])
    true, false = np.array(children, np.int64).T
    return Nodes(
        *(np.array(modes), rng.integers(0, features, count), thresholds, true, false, rng.random(count) < 0.5),
        *(leaves, np.concatenate([*each, np.zeros(0, np.int64)]).astype(np.int64)),
        rng.normal(size=len(leaves)).astype(dtype),
    ), np.array(roots, np.int64)
