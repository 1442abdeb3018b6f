"""Models of random trees, as operators of ai.onnx.ml have them."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from ep.common.primitive.tree_nodes import NodeMode, Nodes

NAMES = {mode: "LEAF" if mode is NodeMode.LEAF else f"BRANCH_{mode.name}" for mode in NodeMode}
ML = "ai.onnx.ml"


def model_of(
    name: str, attributes: dict[str, Any], x: Any = TensorProto.FLOAT, outputs: Any = None, version: int | None = None
) -> ModelProto:
    """Return a model of one node, with an input "x" of rows. outputs: their names and ONNX's types."""
    made = outputs or {"y": TensorProto.FLOAT}
    shapes = {"label": ["rows"]}
    values = [
        helper.make_tensor_value_info(one, kind, shapes.get(one, ["rows", "columns"])) for one, kind in made.items()
    ]
    node = helper.make_node(name, ["x"], [*made], name="the_node", domain=ML, **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", x, ["rows", "features"])], values)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(ML, version or (5 if name == "TreeEnsemble" else 3))]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def classifier(attributes: dict[str, Any], labels: Any, **about: Any) -> ModelProto:
    """Return a model of a TreeEnsembleClassifier."""
    is_text = isinstance(labels[0], str)
    outputs = {"label": TensorProto.STRING if is_text else TensorProto.INT64, "scores": TensorProto.FLOAT}
    named = {"classlabels_strings" if is_text else "classlabels_int64s": labels}
    return model_of("TreeEnsembleClassifier", {**attributes, **named}, outputs=outputs, **about)


def by_nodes(nodes: Nodes, roots: Any, kind: str, modes: Any = NAMES) -> dict[str, Any]:
    """Return the attributes of a TreeEnsembleClassifier or -Regressor. kind: "class" or "target"."""
    tree = np.searchsorted(roots, np.arange(len(nodes.modes)), "right") - 1
    first = roots[tree]
    inner = nodes.modes != NodeMode.LEAF
    return {
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": (np.arange(len(tree)) - first).tolist(),
        "nodes_featureids": np.where(inner, nodes.features, 0).tolist(),
        "nodes_modes": [modes[NodeMode(one)] for one in nodes.modes],
        "nodes_values": nodes.thresholds.tolist(),
        "nodes_truenodeids": np.where(inner, nodes.on_true - first, 0).tolist(),
        "nodes_falsenodeids": np.where(inner, nodes.on_false - first, 0).tolist(),
        "nodes_missing_value_tracks_true": nodes.nan_is_true.astype(int).tolist(),
        f"{kind}_treeids": tree[nodes.leaves].tolist(),
        f"{kind}_nodeids": (nodes.leaves - first[nodes.leaves]).tolist(),
        f"{kind}_ids": nodes.targets.tolist(),
        f"{kind}_weights": nodes.weights.tolist(),
    }


def by_splits(nodes: Nodes, roots: Any, num_targets: int) -> dict[str, Any]:
    """Return the attributes of a TreeEnsemble: each leaf has one weight."""
    inner = np.flatnonzero(nodes.modes != NodeMode.LEAF)
    place = np.full(len(nodes.modes), -1)
    place[inner] = np.arange(len(inner))
    leaf = np.full(len(nodes.modes), -1)
    leaf[nodes.leaves] = np.arange(len(nodes.leaves))
    found: dict[str, Any] = {"n_targets": num_targets, "tree_roots": place[roots].tolist()}
    for name, children in (("true", nodes.on_true[inner]), ("false", nodes.on_false[inner])):
        is_leaf = nodes.modes[children] == NodeMode.LEAF
        found[f"nodes_{name}leafs"] = is_leaf.astype(int).tolist()
        found[f"nodes_{name}nodeids"] = np.where(is_leaf, leaf[children], place[children]).tolist()
    tensors = {
        "nodes_splits": nodes.thresholds[inner],
        "nodes_modes": (nodes.modes[inner] - 1).astype(np.uint8),
        "leaf_weights": nodes.weights,
    }
    return {
        **found,
        "nodes_featureids": nodes.features[inner].tolist(),
        "nodes_missing_value_tracks_true": nodes.nan_is_true[inner].astype(int).tolist(),
        "leaf_targetids": nodes.targets.tolist(),
        **{name: numpy_helper.from_array(one, name) for name, one in tensors.items()},
    }


def members(sets: Any, dtype: Any = np.float32) -> dict[str, Any]:
    """Return a TreeEnsemble of one tree, whose node k sends a member of set k to leaf k, and others on."""
    count = len(sets)
    values = np.concatenate([[*one, np.nan] for one in sets]).astype(dtype)
    tensors = {
        "nodes_splits": np.zeros(count, dtype),
        "nodes_modes": np.full(count, 6, np.uint8),
        "leaf_weights": np.arange(count + 1, dtype=dtype),
        "membership_values": values,
    }
    return {
        **{name: numpy_helper.from_array(one, name) for name, one in tensors.items()},
        "tree_roots": [0],
        "nodes_featureids": [0] * count,
        "nodes_trueleafs": [1] * count,
        "nodes_truenodeids": [*range(count)],
        "nodes_falseleafs": [0] * (count - 1) + [1],
        "nodes_falsenodeids": [*range(1, count + 1)],
        "leaf_targetids": [0] * (count + 1),
        "n_targets": 1,
    }
