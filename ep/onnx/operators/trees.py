"""Ensembles of trees of ai.onnx.ml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ep import ops
from ep.onnx.operators.ensembles import Ensemble, ensemble_of_nodes, ensemble_of_splits
from ep.onnx.operators.fitting import check
from ep.onnx.operators.line import line
from ep.onnx.operators.linear import in_rows
from ep.onnx.operators.placing import placed
from ep.onnx.operators.scores import TRANSFORMS, check_transform, class_labels, labelled, transformed, two_classes

NDArray = np.ndarray[Any, Any]
_AGGREGATES = "AVERAGE", "SUM", "MIN", "MAX"


def _base(given: dict[str, Any], *counts: int) -> NDArray:
    """Take and return the base values; raises ValueError for another number of them."""
    listed, tensor = given.pop("base_values", None), given.pop("base_values_as_tensor", None)
    found = np.array(listed or [], np.float32) if tensor is None else tensor
    if found.ndim != 1 or len(found) not in (0, *counts):
        raise ValueError(f"base_values has shape {found.shape}; it must have {' or '.join(map(str, counts))} elements")
    return found


def _prepared_classifier(given: Mapping[str, Any]) -> dict[str, Any]:
    given = {**given}
    labels = class_labels(given.pop("classlabels_strings", None), given.pop("classlabels_int64s", None))
    count = len(labels)
    ensemble = ensemble_of_nodes("class", count, given)
    if count == 2 and len(ensemble.ids) < 2:  # one class alone has scores
        base, alone = _base(given, 1, 2), ensemble.ids[0] if ensemble.ids else 0
        return {**given, "labels": labels, "base": base, "ensemble": ensemble.of_one_target(), "alone": alone}
    base = _base(given, 1, count) if count == 2 else _base(given, count)
    return {**given, "labels": labels, "base": base, "ensemble": ensemble, "alone": None}


def _prepared_regressor(given: Mapping[str, Any]) -> dict[str, Any]:
    given = {**given}
    targets = given.pop("n_targets", None) or 1
    _check_targets(targets)
    base = _base(given, targets)
    return {**given, "base": base, "ensemble": ensemble_of_nodes("target", targets, given)}


def _prepared_ensemble(given: Mapping[str, Any]) -> dict[str, Any]:
    given = {**given}
    targets = given.pop("n_targets", None) or 1
    _check_targets(targets)
    ways = {"aggregate_function": _AGGREGATES, "post_transform": TRANSFORMS}
    for name, values in ways.items():
        if not 0 <= given[name] < len(values):
            raise ValueError(f"{name} is {given[name]}; it must be at least 0 and below {len(values)}")
        given[name] = values[given[name]]
    return {**given, "ensemble": ensemble_of_splits(targets, given)}


def _check_targets(targets: int) -> None:
    if not 1 <= targets < 2**31:
        raise ValueError(f"n_targets is {targets}; it must be 1 or more")


def _sums(x: Any, ensemble: Ensemble, aggregate: str = "SUM", base: Any = None) -> Any:
    """Return what the trees give each row of x, of shape (rows, targets), in float32 or float64."""
    x = in_rows(x)
    least, features = ensemble.num_features, x.shape[1]
    check(features >= least, "X of shape", tuple(x.shape), f"of {least} or more features, which the trees read")
    is_wide = np.float64 in (ensemble.dtype, x.dtype)
    dtype = np.dtype(np.float64 if is_wide else np.float32)
    nodes, roots = (placed(one, x) for one in ensemble.words(dtype))
    how: Any = {"AVERAGE": "sum", "SUM": "sum", "MIN": "min", "MAX": "max"}[aggregate]
    found = ops.tree_ensemble(ops.cast(x, dtype), nodes, roots, ensemble.num_targets, how)
    if aggregate == "AVERAGE" and ensemble.num_trees:
        found = ops.div(found, float(ensemble.num_trees))
    return found if base is None or not len(base) else ops.add(found, placed(base.astype(dtype), x))


@line("TreeEnsembleRegressor", 1, domain="ai.onnx.ml", check=check_transform, prepare=_prepared_regressor)
def tree_ensemble_regressor(
    x: Any, ensemble: Ensemble, base: NDArray, aggregate_function: str, post_transform: str, **_: Any
) -> Any:
    """Return what the trees give each row for each target, joined, plus base values."""
    found = _sums(x, ensemble, aggregate_function, base)
    return ops.cast(transformed(found, post_transform), np.float32)


@line("TreeEnsemble", 5, domain="ai.onnx.ml", prepare=_prepared_ensemble)
def tree_ensemble(x: Any, ensemble: Ensemble, aggregate_function: str, post_transform: str, **_: Any) -> Any:
    """Return what the trees give each row for each target, joined."""
    return ops.cast(transformed(_sums(x, ensemble, aggregate_function), post_transform), x.dtype)


@line("TreeEnsembleClassifier", 1, domain="ai.onnx.ml", check=check_transform, prepare=_prepared_classifier, labels=0)
def tree_ensemble_classifier(
    x: Any, ensemble: Ensemble, base: NDArray, labels: Sequence[Any], alone: int | None, post_transform: str, **_: Any
) -> tuple[Any, Any]:
    """Return the label of the class with the largest score, and the scores of all classes.

    If one of two classes alone has weights, their sum decides: above 0, or above 0.5 if no weight is below 0.
    """
    if alone is None:
        scores = _sums(x, ensemble, base=np.append(base, 0) if len(base) == 1 < len(labels) else base)
        places = ops.argmax(scores, 1)
        scores = transformed(scores, post_transform)
    else:
        score = _sums(x, ensemble, base=base[alone : alone + 1] if len(base) == 2 else base)
        is_positive = ensemble.is_positive
        places = ops.cast(ops.greater(score, 0.5 if is_positive else 0.0), np.int64).reshape((score.shape[0],))
        if alone == 0 and len(base) < 2:
            scores = two_classes(score, is_positive, post_transform)
        else:
            other = np.full((1, 1), base[1 - alone] if len(base) == 2 else 0, score.dtype)
            rest = ops.broadcast_to(placed(other, x), score.shape)
            scores = transformed(ops.concat([score, rest] if alone == 0 else [rest, score], 1), post_transform)
    return labelled(places, labels), ops.cast(scores, np.float32)
