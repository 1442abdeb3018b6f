"""The attributes of tree ensembles, which are checked and put in the form of `ops.tree_ensemble` when a model is
loaded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.primitive.tree_nodes import NodeMode, Nodes, packed

NDArray = np.ndarray[Any, Any]

_MODES: Final = {
    "LEAF": NodeMode.LEAF,
    "BRANCH_LEQ": NodeMode.LEQ,
    "BRANCH_LT": NodeMode.LT,
    "BRANCH_GTE": NodeMode.GTE,
    "BRANCH_GT": NodeMode.GT,
    "BRANCH_EQ": NodeMode.EQ,
    "BRANCH_NEQ": NodeMode.NEQ,
}
_NUMBERS: Final = (NodeMode.LEQ, NodeMode.LT, NodeMode.GTE, NodeMode.GT, NodeMode.EQ, NodeMode.NEQ)
"""The modes of TreeEnsemble by their numbers there; MEMBER follows."""
_MEMBER: Final = len(_NUMBERS)
_MOST_MEMBERS: Final = 2**20
"""The most nodes that MEMBER nodes become: each compares with one number."""


class Ensemble:
    """A checked ensemble. num_targets: for which it has weights. num_trees: of its trees. num_features: the least that
    rows must have. ids: the targets that any leaf has a weight for. is_positive: whether no weight is below 0.
    """

    def __init__(self, nodes: Nodes, roots: NDArray, num_targets: int) -> None:
        self.nodes, self._roots, self.num_targets, self.num_trees = nodes, roots, num_targets, len(roots)
        inner = nodes.modes != NodeMode.LEAF
        self.num_features = int(nodes.features[inner].max(initial=0)) + 1
        self.ids = np.unique(nodes.targets).tolist()
        self.is_positive = bool((nodes.weights >= 0).all())
        self.words = cache(self._words)

    def of_one_target(self) -> Ensemble:
        """Return the ensemble whose weights are all for one target."""
        return Ensemble(self.nodes._replace(targets=np.zeros_like(self.nodes.targets)), self._roots, 1)

    def _words(self, dtype: np.dtype[Any]) -> tuple[NDArray, NDArray]:
        """Return the words of the nodes, and the places of roots, for features of float32 or float64."""
        nodes = self.nodes
        wide = nodes._replace(thresholds=nodes.thresholds.astype(dtype), weights=nodes.weights.astype(dtype))
        return packed(wide, self._roots, self.num_targets)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of thresholds and weights."""
        found: np.dtype[Any] = self.nodes.thresholds.dtype
        return found


def ensemble_of_nodes(kind: str, num_targets: int, given: dict[str, Any]) -> Ensemble:
    """Take the attributes of a TreeEnsembleClassifier or -Regressor, and return its ensemble.

    kind: "class" or "target", with which the names of the weights' attributes begin.
    """
    take = _Taker(given)
    trees = take.integers("nodes_treeids")
    count = len(trees)
    numbers, features, true, false = (
        take.integers(f"nodes_{name}", count) for name in ("nodeids", "featureids", "truenodeids", "falsenodeids")
    )
    modes = take.modes("nodes_modes", count)
    thresholds, tracks = take.floats("nodes_values", count), take.tracks(count)
    take.floats("nodes_hitrates")
    owners, leaves, ids = (take.integers(f"{kind}_{name}") for name in ("treeids", "nodeids", "ids"))
    for name, found in ((f"{kind}_nodeids", leaves), (f"{kind}_ids", ids)):
        _check_length(name, found, len(owners), f"{kind}_treeids")
    weights = take.floats(f"{kind}_weights", len(owners))
    _check_range(f"{kind}_ids", ids, num_targets)
    find = _finder(trees, numbers)
    inner = np.flatnonzero(modes != NodeMode.LEAF)
    on_true, on_false = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for name, children, found in (("nodes_truenodeids", true, on_true), ("nodes_falsenodeids", false, on_false)):
        found[inner] = find(name, trees[inner], children[inner])
    of_leaves = find(f"{kind}_nodeids", owners, leaves)
    _check_features("nodes_featureids", features[inner])
    is_root = np.ones(count, bool)
    is_root[on_true[inner]] = is_root[on_false[inner]] = False
    roots = np.flatnonzero(is_root)
    if len(np.unique(trees[roots])) != len(roots):
        tree = next(one for one in np.unique(trees[roots]) if (trees[roots] == one).sum() > 1)
        raise ValueError(f"nodes_treeids: tree {tree} has nodes that no other leads to, more than its root")
    dtype = np.float64 if np.float64 in (thresholds.dtype, weights.dtype) else np.float32
    order = np.argsort(of_leaves, kind="stable")
    nodes = Nodes(
        *(modes, features, thresholds.astype(dtype), on_true, on_false, tracks),
        *(of_leaves[order], ids[order], weights.astype(dtype)[order]),
    )
    if not (reached := _check_trees(nodes, roots)).all():
        node = np.flatnonzero(~reached)[0]
        raise ValueError(f"nodes_truenodeids, nodes_falsenodeids: tree {trees[node]} has a cycle")
    return Ensemble(nodes, roots, num_targets)


def ensemble_of_splits(num_targets: int, given: dict[str, Any]) -> Ensemble:
    """Take the attributes of a TreeEnsemble, and return its ensemble."""
    take = _Taker(given)
    features = take.integers("nodes_featureids")
    count = len(features)
    true, false, true_leaf, false_leaf = (
        take.integers(f"nodes_{name}", count) for name in ("truenodeids", "falsenodeids", "trueleafs", "falseleafs")
    )
    kinds, splits, tracks = take.array("nodes_modes", count), take.array("nodes_splits", count), take.tracks(count)
    take.array("nodes_hitrates")
    targets, roots = take.integers("leaf_targetids"), take.integers("tree_roots")
    weights, members = take.array("leaf_weights", len(targets)), take.array("membership_values")
    for name, found in (("leaf_weights", weights), ("membership_values", members)):
        if len(found) and found.dtype != splits.dtype:
            raise ValueError(f"{name} has dtype {found.dtype}; it must be {splits.dtype}, as nodes_splits")
    _check_range("leaf_targetids", targets, num_targets)
    _check_range("nodes_modes", kinds, _MEMBER + 1)
    _check_range("tree_roots", roots, count)
    _check_features("nodes_featureids", features)
    for name, nodes, is_leaf in (("truenodeids", true, true_leaf), ("falsenodeids", false, false_leaf)):
        leaves = is_leaf != 0
        _check_range(f"nodes_{name}", nodes[leaves], len(targets), "leaf_targetids")
        _check_range(f"nodes_{name}", nodes[~leaves], count, "nodes_featureids")
    dtype, leaves = np.float64 if splits.dtype == np.float64 else np.float32, len(targets)
    # the nodes, then the leaves
    modes = np.append(np.array([*_NUMBERS, NodeMode.EQ])[kinds.astype(np.int64)], np.full(leaves, NodeMode.LEAF))
    zeros = np.zeros(leaves, np.int64)
    ensemble = Nodes(
        modes,
        np.append(features, zeros),
        np.append(splits, zeros).astype(dtype),
        np.append(np.where(true_leaf != 0, true + count, true), zeros),
        np.append(np.where(false_leaf != 0, false + count, false), zeros),
        np.append(tracks, zeros != 0),
        np.arange(count, count + leaves),
        targets,
        weights.astype(dtype),
    )
    _check_trees(ensemble, roots)
    # a root that leads to one leaf alone is this leaf: so has ONNX trees without a comparison
    alone = (ensemble.on_true[:count] == ensemble.on_false[:count]) & (true_leaf != 0) & (false_leaf != 0)
    places = np.where(alone[roots], ensemble.on_true[roots], roots)
    return Ensemble(_with_members(ensemble, np.flatnonzero(kinds == _MEMBER), members), places, num_targets)


def _with_members(nodes: Nodes, which: NDArray, members: NDArray) -> Nodes:
    """Return the nodes with those of MEMBER replaced by chains, each of whose nodes compares with one number.

    which: the nodes of MEMBER. members: the numbers of each one, which NaN ends.
    """
    ends = np.flatnonzero(np.isnan(members))
    if len(ends) != len(which) or (len(members) and not np.isnan(members[-1])):
        raise ValueError(f"membership_values has {len(ends)} sets, which NaN ends; {len(which)} nodes are of MEMBER")
    if len(members) > _MOST_MEMBERS:
        raise ValueError(f"membership_values has {len(members)} numbers; it must have {_MOST_MEMBERS} at most")
    each, begin = [column.tolist() for column in nodes[:6]], 0
    thresholds, on_false = each[2], each[4]
    for node, end in zip(which.tolist(), ends.tolist(), strict=True):
        numbers = members[begin:end].tolist()
        begin = end + 1
        if not numbers:
            raise ValueError("membership_values has a set without numbers")
        last, chain = on_false[node], [node, *range(len(thresholds), len(thresholds) + len(numbers) - 1)]
        for column in each:
            column += [column[node]] * (len(numbers) - 1)
        for place, following, number in zip(chain, [*chain[1:], last], numbers, strict=True):
            thresholds[place], on_false[place] = number, following
    if not len(which):
        return nodes
    found = [np.array(one, column.dtype) for one, column in zip(each, nodes[:6], strict=True)]
    modes, features, limits, on_true, others, tracks = found
    return Nodes(modes, features, limits, on_true, others, tracks, nodes.leaves, nodes.targets, nodes.weights)


def _check_trees(nodes: Nodes, roots: NDArray) -> NDArray:
    """Return whether roots lead to each node.

    Raises ValueError for nodes that are not trees: one node at most leads to another one, and none to a root. Leaves
    may be shared, and have one weight for a target.
    """
    inner = nodes.modes != NodeMode.LEAF
    children = np.concatenate([nodes.on_true[inner], nodes.on_false[inner], roots])
    parents = np.bincount(children, minlength=len(inner))
    if (twice := np.flatnonzero((parents > 1) & inner)).size:
        raise ValueError(f"nodes_truenodeids, nodes_falsenodeids: two ways lead to node {twice[0]}; trees have one")
    reached, level = np.zeros(len(inner), bool), roots
    while len(level):
        reached[level] = True
        level = level[inner[level]]
        level = np.concatenate([nodes.on_true[level], nodes.on_false[level]])
    if inner[nodes.leaves].any():
        raise ValueError("a node that is no leaf has a weight")
    pairs = nodes.leaves * (int(nodes.targets.max(initial=0)) + 1) + nodes.targets
    if len(np.unique(pairs)) != len(pairs):
        raise ValueError("a leaf has two weights for one target")
    return reached


class _Taker:
    """Takes attributes from those of a node: lists, or tensors of one axis."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given

    def integers(self, name: str, count: int | None = None) -> NDArray:
        found = np.array(self._given.pop(name, None) or [], np.int64)
        if count is not None:
            _check_length(name, found, count)
        return found

    def floats(self, name: str, count: int | None = None) -> NDArray:
        """Return an attribute that may be a list of float32 numbers, or a tensor of another name."""
        listed, tensor = self._given.pop(name, None), self._given.pop(f"{name}_as_tensor", None)
        if listed and tensor is not None:
            raise ValueError(f"{name} and {name}_as_tensor are both given")
        found = np.array(listed or [], np.float32) if tensor is None else _of_one_axis(f"{name}_as_tensor", tensor)
        if count is not None:
            _check_length(name, found, count)
        return found

    def array(self, name: str, count: int | None = None) -> NDArray:
        tensor = self._given.pop(name, None)
        found = np.zeros(0, np.float32) if tensor is None else _of_one_axis(name, tensor)
        if count is not None:
            _check_length(name, found, count)
        return found

    def tracks(self, count: int) -> NDArray:
        name = "nodes_missing_value_tracks_true"
        found = self.integers(name)
        if len(found):
            _check_length(name, found, count)
        return found != 0 if len(found) else np.zeros(count, bool)

    def modes(self, name: str, count: int) -> NDArray:
        given = self._given.pop(name, None) or []
        if unknown := {*given} - {*_MODES}:
            raise ValueError(f"{name} has {min(unknown)!r}; it must be one of {', '.join(_MODES)}")
        found = np.array([_MODES[one] for one in given], np.int64)
        _check_length(name, found, count)
        return found


def _of_one_axis(name: str, tensor: Any) -> NDArray:
    if tensor.ndim != 1 or tensor.dtype.kind not in "fu":
        raise ValueError(f"{name} has shape {tensor.shape} and dtype {tensor.dtype}; it must have one axis of numbers")
    found: NDArray = tensor
    return found


def _check_length(name: str, found: Sequence[Any] | NDArray, count: int, other: str = "nodes") -> None:
    if len(found) != count:
        raise ValueError(f"{name} has {len(found)} elements; it must have {count}, as there are {other}")


def _check_range(name: str, found: NDArray, end: int, other: str = "") -> None:
    if len(found) and not 0 <= found.min() <= found.max() < end:
        wrong = found[(found < 0) | (found >= end)][0]
        raise ValueError(f"{name} has {wrong}; it must be at least 0 and below {end}{other and f', as of {other}'}")


def _check_features(name: str, found: NDArray) -> None:
    _check_range(name, found, 2**31)


def _finder(trees: NDArray, numbers: NDArray) -> Any:
    """Return a function (attribute, trees, numbers) that returns the places of nodes by their trees and numbers."""
    ids = np.unique(np.concatenate([trees, numbers]))
    key = np.searchsorted(ids, trees) * len(ids) + np.searchsorted(ids, numbers)
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    if (twice := np.flatnonzero(ordered[1:] == ordered[:-1])).size:
        node = order[twice[0]]
        raise ValueError(f"nodes_nodeids: tree {trees[node]} has two nodes {numbers[node]}")

    def find(name: str, wanted_trees: NDArray, wanted: NDArray) -> NDArray:
        if not len(wanted):
            return np.zeros(0, np.int64)
        known = np.isin(wanted_trees, ids) & np.isin(wanted, ids) if len(ids) else np.zeros(len(wanted), bool)
        keys = np.searchsorted(ids, wanted_trees) * len(ids) + np.searchsorted(ids, wanted)
        place = np.minimum(np.searchsorted(ordered, keys), max(len(ordered) - 1, 0))
        known &= (ordered[place] == keys) if len(ordered) else False
        if not known.all():
            wrong = int(np.flatnonzero(~known)[0])
            raise ValueError(f"{name} has node {wanted[wrong]} of tree {wanted_trees[wrong]}, which is not there")
        found: NDArray = order[place]
        return found

    return find
