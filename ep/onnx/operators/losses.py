"""Losses: of scores, or of the logarithms of probabilities, of the classes that labels name."""

from __future__ import annotations

from typing import Any, Final

from ep import ops
from ep.onnx.operators.fitting import check_rank, check_shape
from ep.onnx.operators.line import line, one_of
from ep.onnx.operators.placing import places
from ep.onnx.operators.types import in_float32

check_reduction: Final = one_of(reduction=("none", "sum", "mean"))


@line("NegativeLogLikelihoodLoss", 12, check=check_reduction, indices="target")
@in_float32
def negative_log_likelihood(
    x: Any, target: Any, weight: Any = None, *, reduction: str, ignore_index: int | None = None
) -> Any:  # fmt: skip
    """Return minus the number in x of the class that each target names, times its weight; 0 for `ignore_index`.

    The mean is that of the targets that are not ignored, by their weights.
    """
    check_rank("input", x, least=2)
    check_shape("target", target, (x.shape[0], *x.shape[2:]))
    check_shape("weight", weight, x.shape[1:2])
    ignored = None if ignore_index is None else ops.equal(ops.cast(target, "int64"), ignore_index)
    labels = target if ignored is None else ops.where(ignored, 0, target)
    labels = ops.gather(places(x.shape[1], 0, 1, x), labels, 0)  # refuses negative ones, too
    taken = ops.take_along_axis(x, labels.reshape((x.shape[0], 1, *x.shape[2:])), 1, mode="zero")  # all are right
    losses = ops.negative(taken.reshape(target.shape))
    factors: Any = None if weight is None else ops.gather(weight, labels, 0)
    if factors is None and ignored is not None and reduction == "mean":
        factors = ops.cast(ops.logical_not(ignored), x.dtype)
    losses = losses if weight is None else ops.mul(losses, factors)
    if ignored is not None:
        losses = ops.where(ignored, 0.0, losses)
        factors = None if factors is None else ops.where(ignored, 0.0, factors)
    if reduction == "none":
        return losses
    if reduction == "mean" and factors is None:
        return ops.mean(losses)
    total = ops.sum(losses)
    return ops.div(total, ops.sum(factors)) if reduction == "mean" else total


@line("SoftmaxCrossEntropyLoss", 12, check=check_reduction, indices="labels")
def softmax_cross_entropy(x: Any, labels: Any, weights: Any = None, **attributes: Any) -> tuple[Any, Any]:
    """Return the loss of the logarithms of the softmax of scores along axis 1, and these logarithms."""
    check_rank("scores", x, least=2)
    logs = ops.log_softmax(x, 1)
    return negative_log_likelihood(logs, labels, weights, **attributes), logs
