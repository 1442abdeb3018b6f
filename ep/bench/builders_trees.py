"""Cases of ensembles of trees."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ep.bench import numpy_ways
from ep.bench.case import Case, TreesWork
from ep.bench.data import Array, Input
from ep.common.primitive.tree_nodes import NodeMode, Nodes, node_layout, packed
from ep.include.data_type import DataType
from ep.include.primitive import TreeAggregate, TreeEnsemble

_ITEM, _WORD = np.dtype(np.float32), np.dtype(np.int32)


def tree_ensemble(name: str, rows: int, features: int, trees: int, depth: int, **about: Any) -> Case:
    """Return a case that adds, for each row, the weights of the leaves that it reaches in complete trees."""
    inner, size = 2**depth - 1, 2 ** (depth + 1) - 1  # nodes of a tree that compare, and all of them
    num_words = node_layout(DataType.kFloat).size * size * trees
    first = np.arange(trees) * size

    def words(rng: np.random.Generator) -> Array:
        node, place = np.arange(trees * size), np.tile(np.arange(size), trees)
        is_leaf = place >= inner
        next_node = np.where(is_leaf, node, node + place + 1)
        nodes = Nodes(
            np.where(is_leaf, NodeMode.LEAF, NodeMode.LEQ),
            rng.integers(0, features, len(node)),
            rng.standard_normal(len(node), _ITEM),
            *(next_node, next_node + ~is_leaf, np.zeros(len(node), np.bool_)),
            *(node[is_leaf], np.zeros(int(is_leaf.sum()), np.int64), rng.standard_normal(int(is_leaf.sum()), _ITEM)),
        )
        return packed(nodes, first, 1)[0]

    roots: Array = (first * node_layout(DataType.kFloat).size).astype(_WORD)
    of_roots = Input((trees,), _WORD, lambda rng: roots)
    given = Input((rows, features), _ITEM), Input((num_words,), _WORD, words), of_roots
    return Case(
        name, TreeEnsemble, (TreeAggregate.kSum, _ITEM), TreesWork(), given, (rows, 1), _ITEM,
        lambda inputs, out: (rows, features, 1, num_words, trees, *inputs, out),
        lambda inputs, out: partial(numpy_ways.leaf_sums, inputs[0], inputs[1], inputs[2], depth, out),
        relative_error=2.0**-20, absolute_error=2.0**-20 * trees, **about,
    )  # fmt: skip
