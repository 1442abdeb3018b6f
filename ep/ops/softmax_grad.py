"""softmax_grad and log_softmax_grad: the gradients of both, computed from their results."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.include.primitive.log_softmax_backward import LogSoftmaxBackwardFactory
from ep.include.primitive.softmax_backward import SoftmaxBackwardFactory
from ep.include.primitive.structure import RowOp
from ep.ops.declare.calls import Function
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.sbp_signatures import B, P, signature, signatures_beside
from ep.ops.shapes import axis_of
from ep.ops.softmax import launching_by_rows
from ep.sbp import Problem, SbpSignature


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> Sequence[Dims]:
    return shapes[:1]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    yield from signatures_beside(problem)
    yield signature(B, P, P)


def _resolved(y: Tensor, dy: Tensor, axis: Any) -> Attributes:
    if y.dtype != dy.dtype:
        raise TypeError(f"y has dtype {y.dtype}, dy has {dy.dtype}; convert one of them")
    if tuple(y.shape) != tuple(dy.shape):
        raise ValueError(f"y has shape {tuple(y.shape)}, dy has {tuple(dy.shape)}; they must be equal")
    return {"axis": axis_of(y, "y", axis)}


@operator(shape=_shape, dtype=SameAs("y"), signatures=_signatures, joins=RowOp.kSoftmaxBackward)
def softmax_grad(y: Tensor, dy: Tensor, axis: int = -1) -> Attributes:
    """Return the gradient of `softmax`: `(dy - sum(y * dy)) * y`, the sum along the axis.

    dy: the gradient with respect to the result of softmax. y: that result, of its shape and dtype; both by name.
    axis: that of softmax.
    out: where to put the result, an array of its shape and dtype.
    """
    return _resolved(y, dy, axis)


@operator(shape=_shape, dtype=SameAs("y"), signatures=_signatures, joins=RowOp.kLogSoftmaxBackward)
def log_softmax_grad(y: Tensor, dy: Tensor, axis: int = -1) -> Attributes:
    """Return the gradient of `log_softmax`: `dy - exp(y) * sum(dy)`, the sum along the axis.

    dy: the gradient with respect to the result of log_softmax. y: that result; both by name.
    axis, out: as of `softmax_grad`.
    """
    return _resolved(y, dy, axis)


def _by_name(function: Function) -> Function:
    """Return a function of operands given by name alone: no error would show that dy and y are exchanged."""
    name = function.__name__

    @functools.wraps(function)
    def by_name(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise TypeError(f"{name} takes all arguments by name, {name}(dy=dy, y=y), and {len(args)} by position came")
        y, dy = kwargs.pop("y", function), kwargs.pop("dy", function)
        if y is function or dy is function:
            raise TypeError(f"{name} needs {' and '.join(n for n, one in (('dy', dy), ('y', y)) if one is function)}")
        return function(y, dy, **kwargs)

    signature = inspect.signature(function)
    y, dy, *rest = (one.replace(kind=one.KEYWORD_ONLY) for one in signature.parameters.values())
    by_name.__signature__ = signature.replace(parameters=[dy, y, *rest])  # type: ignore[attr-defined]
    return by_name


for _name in ("softmax_grad", "log_softmax_grad"):
    globals()[_name] = FUNCTIONS[_name] = _by_name(FUNCTIONS[_name])

launching_by_rows("softmax_grad", SoftmaxBackwardFactory, ("y", "dy"), "dx")
launching_by_rows("log_softmax_grad", LogSoftmaxBackwardFactory, ("y", "dy"), "dx")
