"""Linear models and support vectors of ai.onnx.ml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ep import ops
from ep.onnx.operators.fitting import check
from ep.onnx.operators.line import line
from ep.onnx.operators.placing import placed
from ep.onnx.operators.scores import check_transform, class_labels, labelled, transformed, two_classes

NDArray = np.ndarray[Any, Any]


def _weights(given: dict[str, Any], rows: int) -> dict[str, Any]:
    """Take and return the coefficients, of shape (rows, features), and the intercepts, one for each row or none."""
    coefficients = np.array(given.pop("coefficients", None) or [], np.float32)
    intercepts = np.array(given.pop("intercepts", None) or [], np.float32)
    if not len(coefficients) or len(coefficients) % rows:
        raise ValueError(f"coefficients has {len(coefficients)} elements; it must have a multiple of {rows}")
    if len(intercepts) not in (0, rows):
        raise ValueError(f"intercepts has {len(intercepts)} elements; it must have {rows} or none")
    return {**given, "coefficients": coefficients.reshape(rows, -1), "intercepts": intercepts}


def _prepared_classifier(given: Mapping[str, Any]) -> dict[str, Any]:
    given = {**given}
    labels = class_labels(given.pop("classlabels_strings", None), given.pop("classlabels_ints", None))
    rows, intercepts = len(labels), given.get("intercepts") or []
    if len(labels) == 2 and len(intercepts) == 1:
        rows = 1
    return {**_weights(given, rows), "labels": labels}


def _prepared_regressor(given: Mapping[str, Any]) -> dict[str, Any]:
    given = {**given}
    targets = given.pop("targets")
    if not 1 <= targets < 2**31:
        raise ValueError(f"targets is {targets}; it must be 1 or more")
    return _weights(given, targets)


def _products(x: Any, coefficients: NDArray, intercepts: NDArray) -> Any:
    """Return the sums of each row of x, times coefficients, plus intercepts."""
    x = in_rows(x)
    features = coefficients.shape[1]
    check(x.shape[1] == features, "X of shape", tuple(x.shape), f"of {features} features, which have coefficients")
    found = ops.matmul(ops.cast(x, np.float32), placed(np.ascontiguousarray(coefficients.T), x))
    return ops.add(found, placed(intercepts, x)) if len(intercepts) else found


def in_rows(x: Any) -> Any:
    """Return x with an axis of rows: an array of one axis is one row."""
    check(len(x.shape) in (1, 2), "X of shape", tuple(x.shape), "of rows and features")
    return x if len(x.shape) == 2 else x.reshape((1, *x.shape))


@line("LinearRegressor", 1, domain="ai.onnx.ml", check=check_transform, prepare=_prepared_regressor)
def linear_regressor(x: Any, coefficients: NDArray, intercepts: NDArray, post_transform: str) -> Any:
    """Return the sums of features times coefficients, plus intercepts."""
    return transformed(_products(x, coefficients, intercepts), post_transform)


@line("LinearClassifier", 1, domain="ai.onnx.ml", check=check_transform, prepare=_prepared_classifier, labels=0)
def linear_classifier(
    x: Any, coefficients: NDArray, intercepts: NDArray, labels: Sequence[Any], post_transform: str, **_: Any
) -> tuple[Any, Any]:
    """Return the label of the class with the largest score, and the scores of all classes.

    Of two classes with one row of coefficients, the sign of the score decides.
    """
    scores = _products(x, coefficients, intercepts)
    if len(coefficients) == len(labels):
        return labelled(ops.argmax(scores, 1), labels), transformed(scores, post_transform)
    places = ops.cast(ops.greater(scores, 0.0), np.int64).reshape((scores.shape[0],))
    return labelled(places, labels), two_classes(scores, post_transform in ("NONE", "PROBIT"), post_transform)
