"""The nodes of trees in the words that TreeEnsemble reads, on every device."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.checks import as_size
from ep.include.data_type import DataType
from ep.include.errors import ArgumentValueError

NDArray = np.ndarray[Any, Any]

MAX_WORDS: Final = 2**31 - 1
"""The most words of the nodes of an ensemble: offsets are 32-bit numbers."""


class NodeLayout(NamedTuple):
    """The numbers of the words of a node, counted from its first word, where its threshold is.

    above: of the offset for a feature above the threshold; those for other numbers and for NaN follow. size: the words
    of a node. num_weights: where a leaf has their number. weights: where they begin. stride: from one to the next.
    target: from a weight to its target.
    """

    feature: int
    above: int
    size: int
    num_weights: int
    weights: int
    stride: int
    target: int


def node_layout(data_type: DataType) -> NodeLayout:
    """Return the layout for thresholds and weights of a type."""
    width = data_type.itemsize // 4  # of a threshold; where it is 2, every node begins with an even word
    return NodeLayout(width, width + 1, width + 4, width + 4, 2 * width + 4, 2 * width, width)


def as_tree_sizes(data_type: DataType, *given: Any) -> tuple[int, int, int, int, int]:
    """Return the checked sizes of a launch. Raises TypeError and ValueError, which name the argument."""
    least = node_layout(data_type).size
    names = "num_rows", "num_features", "num_targets", "num_words", "num_trees"
    rows, features, targets, words, trees = map(as_size, given, names)
    if words > MAX_WORDS:
        raise ArgumentValueError("num_words", f"is {words}; it must be below 2**31")
    if trees and not features:
        raise ArgumentValueError("num_features", "is 0; the nodes of trees read features")
    if trees and words < least:
        raise ArgumentValueError("num_words", f"is {words}; a tree has {least} words or more")
    return rows, features, targets, words, trees


class NodeMode(IntEnum):
    """What a node compares: its feature with its threshold, or, of a leaf, nothing."""

    LEAF = 0
    LEQ = 1
    LT = 2
    GTE = 3
    GT = 4
    EQ = 5
    NEQ = 6


class Nodes(NamedTuple):
    """The nodes of trees: an element of each array for each node.

    modes: of NodeMode. thresholds: of the type of the features. on_true, on_false: the numbers of the next nodes.
    nan_is_true: whether NaN leads to `on_true`, whatever the mode says.
    leaves, targets, weights: the leaf of each weight, in rising order, its target, and the weight.
    """

    modes: NDArray
    features: NDArray
    thresholds: NDArray
    on_true: NDArray
    on_false: NDArray
    nan_is_true: NDArray
    leaves: NDArray
    targets: NDArray
    weights: NDArray


def packed(nodes: Nodes, roots: NDArray, num_targets: int) -> tuple[NDArray, NDArray]:
    """Return the words of nodes, and the places of the roots among them.

    A comparison becomes one or two of the form "not above": `x < t` is `x <= p`, where p is the number before t. Raises
    ValueError for more words than offsets can count.
    """
    data_type = DataType.kFloat if nodes.thresholds.dtype == np.float32 else DataType.kDouble
    layout, modes = node_layout(data_type), nodes.modes
    is_leaf, with_weights = modes == NodeMode.LEAF, num_targets != 1
    num_weights = np.bincount(nodes.leaves, minlength=len(modes))
    is_equality = (modes == NodeMode.EQ) | (modes == NodeMode.NEQ)
    is_pair = is_equality & (nodes.thresholds != -np.inf)  # no number is before that one
    sizes = np.where(is_pair, 2 * layout.size, layout.size)
    if with_weights:
        sizes = sizes + is_leaf * (layout.weights - layout.num_weights + layout.stride * num_weights)
    ends = np.cumsum(sizes, dtype=np.int64)
    if len(ends) and ends[-1] > MAX_WORDS:
        raise ValueError(f"nodes: they take {ends[-1]} words; they must take less than 2**31")
    starts = ends - sizes
    words = np.zeros(int(ends[-1]) if len(ends) else 0, np.int32)
    width, below = layout.feature, np.array(-np.inf, nodes.thresholds.dtype)

    def write(places: NDArray, values: NDArray) -> None:
        """Write numbers of the type of thresholds."""
        bits = np.ascontiguousarray(values, nodes.thresholds.dtype).view(np.int32).reshape(-1, width)
        words[places[:, None] + np.arange(width)] = bits

    def write_tests(which: NDArray, at: NDArray, thresholds: NDArray, above: NDArray, others: NDArray) -> None:
        """Write one comparison for each of some nodes. at: its place. above, others: the places that follow."""
        write(at, thresholds)
        words[at + layout.feature] = nodes.features[which]
        nan = np.where(nodes.nan_is_true[which], starts[nodes.on_true[which]], _nan_of(nodes, which, starts))
        for k, places in enumerate((above, others, nan)):
            words[at + layout.above + k] = places - at

    for mode in (NodeMode.LEQ, NodeMode.LT, NodeMode.GTE, NodeMode.GT, NodeMode.EQ, NodeMode.NEQ):
        which = np.flatnonzero(modes == mode)
        at, limit = starts[which], nodes.thresholds[which]
        true, false = starts[nodes.on_true[which]], starts[nodes.on_false[which]]
        with np.errstate(all="ignore"):
            before = np.nextafter(limit, below)
        never = (limit == below) if mode in (NodeMode.LT, NodeMode.GTE) else np.isnan(limit)
        match mode:
            case NodeMode.LEQ:
                write_tests(which, at, limit, false, true)
            case NodeMode.LT:
                write_tests(which, at, before, false, np.where(never, false, true))
            case NodeMode.GT:
                write_tests(which, at, limit, np.where(never, false, true), false)
            case NodeMode.GTE:
                above = np.where(np.isnan(limit), false, true)
                write_tests(which, at, before, above, np.where(never, true, false))
            case _:
                same, other = (true, false) if mode is NodeMode.EQ else (false, true)
                last, pair = np.where(is_pair[which], at + layout.size, at), is_pair[which]
                write_tests(which[pair], at[pair], before[pair], last[pair], other[pair])
                write_tests(which, last, limit, other, same)
    if with_weights:
        at = starts[is_leaf]
        words[at + layout.num_weights] = num_weights[is_leaf]
        first = np.cumsum(num_weights) - num_weights
        place = starts[nodes.leaves] + layout.weights
        place += layout.stride * (np.arange(len(nodes.leaves)) - first[nodes.leaves])
        write(place, nodes.weights)
        words[place + layout.target] = nodes.targets
    else:
        write(starts[nodes.leaves], nodes.weights)
    return words, starts[roots].astype(np.int32)


def _nan_of(nodes: Nodes, which: NDArray, starts: NDArray) -> NDArray:
    """Return where NaN leads by the mode alone: a comparison with it is false, but for NEQ."""
    is_true = nodes.modes[which] == NodeMode.NEQ
    found: NDArray = np.where(is_true, starts[nodes.on_true[which]], starts[nodes.on_false[which]])
    return found
