"""Ensembles of trees of ai.onnx.ml: values, exports of other packages, and contradictory attributes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

import ep.onnx
from ep.common.primitive.tree_nodes import NodeMode
from ep.include.primitive import TreeAggregate
from ep.testing.references.tree_ensemble import random_trees, tree_ensemble
from tests.onnx.trees import by_nodes, by_splits, classifier, members, model_of

EXPORTS = Path(__file__).parents[1] / "data/trees"
OF_NAN = ("lightgbm", "sklearn_logistic", "xgboost")
"""The exports whose expected results are of features of which some are NaN."""
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
SIZES = ((7, 9, 3), (1, 2, 1), (3, 5, 11))


def features(rng, rows, count, dtype=np.float32):
    x = rng.normal(size=(rows, count)).round(1)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x.astype(dtype)


def ran(model, x, device):
    return [
        one if isinstance(one, np.ndarray | list) else one.copy_to_host()
        for one in ep.onnx.load(model, device.type.tag)(x)
    ]


def without_empty(rng, dtype, sizes, num_targets):
    """Return trees each of whose leaves has one weight."""
    nodes, roots = random_trees(rng, dtype, sizes, 1)
    return nodes._replace(targets=rng.integers(0, num_targets, len(nodes.targets))), roots


@pytest.mark.parametrize("path", sorted(EXPORTS.glob("*.onnx")), ids=lambda path: path.stem)
def test_exports_predict_what_their_packages_predict(path, device):
    known = np.load(EXPORTS / "expected.npz")
    x = known["nan" if path.stem.startswith(OF_NAN) else "x"]
    for rows in (len(x), 1):
        found = ran(path, x[:rows], device)
        for k, one in enumerate(found):
            expected = known[f"{path.stem}.{k}"][:rows]
            if isinstance(one, list):
                labels = np.unique(known[f"{path.stem}.0"]).tolist()
                assert [sorted(each) for each in one] == [sorted(labels)] * rows
                one = np.array([[each[label] for label in labels] for each in one])
            assert one.shape == expected.shape
            if expected.dtype.kind in "iU":
                assert one.tolist() == expected.tolist()
            else:
                np.testing.assert_allclose(one, expected, 2e-6, 2e-6)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("num_targets", [1, 3])
def test_regressors(rng, device, aggregate, num_targets):
    for sizes in SIZES:
        nodes, roots = without_empty(rng, np.float32, sizes, num_targets)
        base = rng.normal(size=num_targets).astype(np.float32)
        more = {"n_targets": num_targets, "aggregate_function": aggregate, "base_values": base.tolist()}
        for rows, dtype in ((11, np.float32), (1, np.float32), (5, np.float64), (3, np.int64)):
            x = features(rng, rows, sizes[2], dtype) if dtype is not np.int64 else rng.integers(-2, 3, (rows, sizes[2]))
            kind = {np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE, np.int64: TensorProto.INT64}[dtype]
            (found,) = ran(
                model_of("TreeEnsembleRegressor", {**by_nodes(nodes, roots, "target"), **more}, kind), x, device
            )
            wide = np.float64 if dtype is np.float64 else np.float32
            op = {"MIN": TreeAggregate.kMin, "MAX": TreeAggregate.kMax}.get(aggregate, TreeAggregate.kSum)
            in_wide = nodes._replace(thresholds=nodes.thresholds.astype(wide), weights=nodes.weights.astype(wide))
            expected = tree_ensemble(op, x.astype(wide), in_wide, roots, num_targets)
            expected = expected / wide(sizes[0]) if aggregate == "AVERAGE" else expected
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, (expected + base.astype(wide)).astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ensembles_of_splits(rng, device, dtype):
    for sizes in SIZES:
        nodes, roots = without_empty(rng, dtype, sizes, 2)
        is_leaf = nodes.modes[roots] == NodeMode.LEAF
        if is_leaf.any():  # its roots are nodes with comparisons
            continue
        x = features(rng, 13, sizes[2], dtype)
        kind = TensorProto.FLOAT if dtype is np.float32 else TensorProto.DOUBLE
        (found,) = ran(model_of("TreeEnsemble", by_splits(nodes, roots, 2), kind, {"y": kind}), x, device)
        np.testing.assert_array_equal(found, tree_ensemble(TreeAggregate.kSum, x, nodes, roots, 2))


def test_members_of_sets(device):
    sets = [[1.0, 2.5], [-3.0], [7.0, 8.0, 1.0]]
    x = np.float32([[1], [2.5], [-3], [8], [7], [0], [np.nan], [np.inf]])
    (found,) = ran(model_of("TreeEnsemble", members(sets)), x, device)
    assert found[:, 0].tolist() == [0, 0, 1, 2, 2, 3, 3, 3]


def transformed(scores, transform):
    wide = scores.astype(np.float64)
    if transform == "LOGISTIC":
        return 1 / (1 + np.exp(-wide))
    if transform in ("SOFTMAX", "SOFTMAX_ZERO"):
        powers = np.exp(wide - wide.max(1, keepdims=True))
        counts = np.abs(wide) > 1e-7 if transform == "SOFTMAX_ZERO" else np.full(wide.shape, True)
        return np.where(counts, powers, 0) / np.where(counts, powers, 0).sum(1, keepdims=True)
    return wide


@pytest.mark.parametrize("transform", TRANSFORMS[:4])
@pytest.mark.parametrize("labels", [[3, 1, 2], ["b", "c", "a", "d"], [5, 4]], ids=str)
def test_classifiers_of_many_classes(rng, device, transform, labels):
    count = len(labels)
    nodes, roots = random_trees(rng, np.float32, (9, 7, 3), count)
    base = rng.normal(size=count).astype(np.float32)
    given = {**by_nodes(nodes, roots, "class"), "post_transform": transform, "base_values": base.tolist()}
    x = features(rng, 17, 3)
    found, scores = ran(classifier(given, labels), x, device)
    expected = tree_ensemble(TreeAggregate.kSum, x, nodes, roots, count) + base
    assert found.tolist() == [labels[k] for k in expected.argmax(1)]
    np.testing.assert_allclose(scores, transformed(expected, transform), 1e-5, 1e-6)


@pytest.mark.parametrize("transform", TRANSFORMS[:4])
@pytest.mark.parametrize("is_positive", [True, False])
@pytest.mark.parametrize("alone", [0, 1])
def test_classifiers_with_weights_of_one_class(rng, device, transform, is_positive, alone):
    nodes, roots = random_trees(rng, np.float32, (5, 7, 3), 1)
    weights = np.abs(nodes.weights) / 7 if is_positive else nodes.weights
    nodes = nodes._replace(weights=weights.astype(np.float32), targets=np.full(len(weights), alone))
    given = {**by_nodes(nodes, roots, "class"), "post_transform": transform}
    x = features(rng, 29, 3)
    found, scores = ran(classifier(given, ["no", "yes"]), x, device)
    score = tree_ensemble(TreeAggregate.kSum, x, nodes._replace(targets=nodes.targets * 0), roots, 1)
    assert found.tolist() == ["yes" if one > (0.5 if is_positive else 0) else "no" for one in score[:, 0]]
    if alone == 1:
        expected = transformed(np.concatenate([0 * score, score], 1), transform)
    elif transform == "LOGISTIC":
        expected = transformed(np.concatenate([-score, score], 1), transform)
    else:
        expected = np.concatenate([1 - score if is_positive else -score, score], 1)
    np.testing.assert_allclose(scores, expected, 1e-5, 1e-6)


def test_sums_are_those_of_onnx_runtime(rng):
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # with several threads, it adds parts of the trees in any order
    for num_targets in (1, 3):
        nodes, roots = without_empty(rng, np.float32, (40, 9, 5), num_targets)
        finite = np.where(np.isnan(nodes.thresholds), 0, nodes.thresholds)
        given = by_nodes(nodes._replace(thresholds=finite), roots, "target")
        model = model_of("TreeEnsembleRegressor", {**given, "n_targets": num_targets}, version=3)
        for rows in (1, 300):
            x = features(rng, rows, 5)
            (expected,) = runtime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})
            np.testing.assert_array_equal(ep.onnx.load(model)(x)[0], expected)


def test_an_input_with_too_few_features(device):
    model = ep.onnx.load(model_of("TreeEnsembleClassifier", valid(), outputs=OUTPUTS), device.type.tag)
    with pytest.raises(ValueError, match=r"X of shape is \(3, 1\); it must be of 2 or more features") as caught:
        model(np.zeros((3, 1), np.float32))
    assert caught.value.__notes__[0] == "in node 'the_node' (TreeEnsembleClassifier)"


WRONG = {
    "a cycle": (
        {
            "nodes_modes": ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_EQ", "LEAF", "LEAF"],
            "nodes_truenodeids": [1, 2, 1, 0, 0],
            "class_nodeids": [3, 4, 4],
        },
        "nodes_truenodeids, nodes_falsenodeids: two ways lead to node 1",
    ),
    "a cycle apart": (
        {
            "nodes_modes": ["LEAF", "BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF"],
            "nodes_truenodeids": [0, 2, 1, 0, 0],
            "nodes_falsenodeids": [0, 3, 4, 0, 0],
            "class_nodeids": [0, 3, 4],
        },
        "nodes_truenodeids, nodes_falsenodeids: tree 0 has a cycle",
    ),
    "a missing node": ({"nodes_falsenodeids": [9, 3, 0, 0, 0]}, "nodes_falsenodeids has node 9 of tree 0"),
    "two roots": ({"nodes_truenodeids": [4, 2, 0, 0, 0]}, "nodes_treeids: tree 0 has nodes that no other leads to"),
    "two nodes of one number": ({"nodes_nodeids": [0, 1, 2, 3, 3]}, "nodes_nodeids: tree 0 has two nodes 3"),
    "a length": ({"nodes_values": [1.0]}, "nodes_values has 1 elements; it must have 5"),
    "tracks": ({"nodes_missing_value_tracks_true": [1]}, "nodes_missing_value_tracks_true has 1 elements"),
    "a mode": ({"nodes_modes": ["BRANCH_MAYBE"] * 5}, "nodes_modes has 'BRANCH_MAYBE'"),
    "a feature": ({"nodes_featureids": [-1, 0, 0, 0, 0]}, "nodes_featureids has -1"),
    "a class": ({"class_ids": [0, 1, 3]}, "class_ids has 3; it must be at least 0 and below 3"),
    "weights": ({"class_weights": [1.0, 2.0]}, "class_weights has 2 elements; it must have 3"),
    "no leaf": ({"class_nodeids": [2, 3, 1]}, "a node that is no leaf has a weight"),
    "two weights": ({"class_nodeids": [2, 2, 3], "class_ids": [1, 1, 0]}, "a leaf has two weights for one target"),
    "base values": ({"base_values": [1.0, 2.0]}, "base_values has shape (2,); it must have 3 elements"),
    "labels of both kinds": ({"classlabels_strings": ["a", "b", "c"]}, "classlabels: both of strings and integers"),
    "no labels": ({"classlabels_int64s": None}, "classlabels: neither of strings and integers"),
}


def valid():
    return {
        "nodes_treeids": [0] * 5,
        "nodes_nodeids": [*range(5)],
        "nodes_featureids": [0, 1, 0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF"],
        "nodes_values": [0.5, 1.5, 0.0, 0.0, 0.0],
        "nodes_truenodeids": [1, 2, 0, 0, 0],
        "nodes_falsenodeids": [4, 3, 0, 0, 0],
        "class_treeids": [0] * 3,
        "class_nodeids": [2, 3, 4],
        "class_ids": [0, 1, 2],
        "class_weights": [1.0, 2.0, 3.0],
        "classlabels_int64s": [0, 1, 2],
    }


OUTPUTS = {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}


@pytest.mark.parametrize("name", WRONG)
def test_contradictory_attributes(name):
    assert ep.onnx.load(model_of("TreeEnsembleClassifier", valid(), outputs=OUTPUTS)).nodes
    changed, words = WRONG[name]
    given = {key: one for key, one in {**valid(), **changed}.items() if one is not None}
    with pytest.raises(ep.onnx.ModelError) as caught:
        ep.onnx.load(model_of("TreeEnsembleClassifier", given, outputs=OUTPUTS))
    assert f"node 'the_node' (TreeEnsembleClassifier): {words}" in str(caught.value)


WRONG_SPLITS = {
    "a root": ({"tree_roots": [2]}, "tree_roots has 2; it must be at least 0 and below 2"),
    "a cycle": (
        {"nodes_falseleafs": [0, 0], "nodes_falsenodeids": [1, 0]},
        "nodes_truenodeids, nodes_falsenodeids: two ways lead to node 0",
    ),
    "a leaf": ({"nodes_truenodeids": [0, 3]}, "nodes_truenodeids has 3; it must be at least 0 and below 3"),
    "a target": ({"leaf_targetids": [0, 0, 1]}, "leaf_targetids has 1; it must be at least 0 and below 1"),
    "sets": ({"membership_values": np.float32([1, np.nan])}, "membership_values has 1 sets, which NaN ends"),
    "an open set": ({"membership_values": np.float32([1, np.nan, 2, 3])}, "membership_values has 1 sets"),
    "an empty set": (
        {"membership_values": np.float32([np.nan, np.nan])},
        "membership_values has a set without numbers",
    ),
    "a dtype": ({"leaf_weights": np.zeros(3)}, "leaf_weights has dtype float64; it must be float32"),
    "an aggregate": ({"aggregate_function": 4}, "aggregate_function is 4; it must be at least 0 and below 4"),
    "targets": ({"n_targets": -1}, "n_targets is -1; it must be 1 or more"),
}


@pytest.mark.parametrize("name", WRONG_SPLITS)
def test_contradictory_splits(name):
    changed, words = WRONG_SPLITS[name]
    made = {key: numpy_helper.from_array(one, key) if hasattr(one, "dtype") else one for key, one in changed.items()}
    with pytest.raises(ep.onnx.ModelError) as caught:
        ep.onnx.load(model_of("TreeEnsemble", {**members([[1.0], [2.0]]), **made}))
    assert f"node 'the_node' (TreeEnsemble): {words}" in str(caught.value)
