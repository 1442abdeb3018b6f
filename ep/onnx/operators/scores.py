"""The scores of classes and targets: what follows their sums in the operators of ai.onnx.ml."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep import ops
from ep.onnx.operators.line import one_of
from ep.onnx.operators.placing import placed

TRANSFORMS: Final = "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"
"""The values of post_transform, in the order of their numbers in TreeEnsemble."""

check_transform: Final = one_of(post_transform=TRANSFORMS, aggregate_function=("SUM", "AVERAGE", "MIN", "MAX"))

_ZERO: Final = 1e-7
"""The largest magnitude of a score that SOFTMAX_ZERO takes for 0."""

_INVERSE_ERF: Final = 0.147
"""The constant of the approximation of the inverse error function by which ONNX's reference computes PROBIT."""


def class_labels(strings: Sequence[str] | None, integers: Sequence[int] | None) -> Sequence[str] | Sequence[int]:
    """Return the labels of the classes. Raises ValueError unless they are either strings or integers."""
    if bool(strings) == bool(integers):
        came = "both" if strings else "neither"
        raise ValueError(f"classlabels: {came} of strings and integers are given; one of them must be")
    found: Sequence[Any] = strings or integers or ()
    return found


def labelled(places: Any, labels: Sequence[str] | Sequence[int]) -> Any:
    """Return the labels at places: of integers themselves, of strings the places, which the border turns into them."""
    if isinstance(labels[0], str) or [*labels] == [*range(len(labels))]:
        return places
    return ops.gather(placed(np.array(labels, np.int64), places), places)


def transformed(scores: Any, transform: str) -> Any:
    """Return the scores of each row after a post_transform."""
    match transform:
        case "LOGISTIC":
            return ops.sigmoid(scores)
        case "SOFTMAX":
            return ops.softmax(scores)
        case "SOFTMAX_ZERO":
            most = ops.max(scores, -1, keepdims=True)
            counts = ops.greater(ops.abs(scores), _ZERO)
            powers = ops.exp(ops.sub(scores, most))
            total = ops.sum(ops.where(counts, powers, 0.0), -1, keepdims=True)
            return ops.div(ops.where(counts, powers, ops.mul(scores, ops.exp(ops.negative(most)))), total)
        case "PROBIT":
            return _probit(scores)
    return scores


def _probit(scores: Any) -> Any:
    """Return the quantiles of the normal distribution, by the approximation of ONNX's reference."""
    x = ops.sub(ops.mul(scores, 2.0), 1.0)
    logarithm = ops.log(ops.mul(ops.sub(1.0, x), ops.add(1.0, x)))
    middle = ops.add(ops.mul(logarithm, 0.5), 2 / (math.pi * _INVERSE_ERF))
    square = ops.sub(ops.mul(middle, middle), ops.mul(logarithm, 1 / _INVERSE_ERF))
    root = ops.sqrt(ops.sub(ops.sqrt(square), middle))
    return ops.mul(ops.where(ops.less(x, 0.0), ops.negative(root), root), math.sqrt(2))


def two_classes(score: Any, is_positive: bool, transform: str) -> Any:
    """Return the scores of two classes after a post_transform, of which the second one alone has a score.

    score: of shape (rows, 1). is_positive: whether the score is no logit, so that the other class has 1 minus it.
    SOFTMAX and SOFTMAX_ZERO change nothing, as in ONNX Runtime.
    """
    is_negated = transform == "LOGISTIC" or not is_positive
    other = ops.negative(score) if is_negated else ops.sub(1.0, score)
    scores = ops.concat([other, score], 1)
    return transformed(scores, transform) if transform in ("LOGISTIC", "PROBIT") else scores
