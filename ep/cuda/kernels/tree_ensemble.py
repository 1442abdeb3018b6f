"""TreeEnsemble: a kernel whose threads have rows, which walk through one tree after the other."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.primitive.tree_nodes import node_layout
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.compile.memory import loader, storer
from ep.cuda.compile.numba_cuda import device_function, next_index, num_threads, thread_index
from ep.include.data_type import DataType
from ep.include.primitive.tree_aggregate import TreeAggregate


@cache
def kernel(op: TreeAggregate, data_type: DataType) -> KernelSource:
    """Return the kernel (x, nodes, roots, out, rows, features, targets, words, trees)."""
    load, store, load_word = loader(data_type, 1), storer(data_type, 1), loader(DataType.kInt32, 1)
    feature_at, above, node_words, num_weights, weights, stride, target_at = node_layout(data_type)
    T, width = data_type.dtype.type, data_type.itemsize // 4
    none = T(0 if op is TreeAggregate.kSum else np.nan)
    is_sum, is_min = op is TreeAggregate.kSum, op is TreeAggregate.kMin

    @device_function
    def word_at(nodes: int, at: int) -> Any:
        return np.int64(load_word(nodes, at)[0])

    @device_function
    def number_at(nodes: int, at: int) -> Any:
        return load(nodes, at // width)[0]

    @device_function
    def within(number: int, last: int, otherwise: int) -> int:
        """Return a number of 0 to `last`, and `otherwise` in the place of others: walks stay in the arrays."""
        return number if 0 <= number <= last else otherwise

    @device_function
    def leaf_of(x: int, features: int, nodes: int, words: int, node: int) -> Any:
        """Return the place of the leaf that a row reaches from a node."""
        moved, left = 1, words
        while moved != 0 and left > 0:
            feature = load(x, within(word_at(nodes, node + feature_at), features - 1, 0))[0]
            way = 2 if feature != feature else (1 if feature <= number_at(nodes, node) else 0)
            following = within(node + word_at(nodes, node + above + way), words - node_words, node)
            moved, node, left = following - node, following, left - 1
        return node

    @device_function
    def weights_of(nodes: int, words: int, leaf: int) -> Any:
        """Return the number of weights of a leaf."""
        most = (words - leaf - weights) // stride
        return within(word_at(nodes, leaf + num_weights), most, 0) if most > 0 else 0

    @device_function
    def join(out: int, target: int, weight: Any) -> None:
        """Join a weight to an element of out."""
        found = load(out, target)[0]
        if is_sum:
            store(out, target, (T(found + weight),))
        elif found != found or (weight < found if is_min else weight > found):
            store(out, target, (weight,))

    def tree_ensemble(
        x: int, nodes: int, roots: int, out: int, rows: int, features: int, targets: int, words: int, trees: int
    ) -> None:
        row, step = thread_index(), num_threads()
        size = width * 4
        while row < rows:
            at, found = x + row * features * size, out + row * targets * size
            for target in range(targets):
                store(found, target, (none,))
            for tree in range(trees):
                root = within(word_at(roots, tree), words - node_words, 0)
                leaf = leaf_of(at, features, nodes, words, root)
                if targets == 1:
                    join(found, 0, number_at(nodes, leaf))
                else:
                    for k in range(weights_of(nodes, words, leaf)):
                        weight = leaf + weights + stride * k
                        target = within(word_at(nodes, weight + target_at), targets - 1, -1)
                        if target >= 0:
                            join(found, target, number_at(nodes, weight))
            for target in range(targets):
                number = load(found, target)[0]
                if number != number and not is_sum:
                    store(found, target, (T(0),))
            row = next_index(row, step)

    return KernelSource(f"tree_ensemble.{op.name}.{data_type.name}", tree_ensemble)
