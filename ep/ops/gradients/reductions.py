"""The gradients of reductions, of the softmaxes and of segment_sum."""

from __future__ import annotations

import math
from typing import Any

from ep.ops.gradients.vjp import (
    Backward,
    Gradients,
    call,
    conjugated,
    gradient_of,
)


def _kept(back: Backward, of: Any) -> Any:
    """A result seen with the axes that went, of size 1."""
    axes = back.attributes["axes"]
    return of.reshape(tuple(1 if axis in axes else size for axis, size in enumerate(back.inputs[0].shape)))


def _spread(back: Backward, of: Any) -> Any:
    """A result expanded to the shape of x."""
    return call("expand")(_kept(back, of), back.inputs[0].shape)


def _as_x(back: Backward, of: Any) -> Any:
    """A gradient in the type of x, where the result had another."""
    (x,) = back.inputs
    return of if of.dtype == x.dtype else call("cast")(of, x.dtype)


@gradient_of("sum")
def _sum(back: Backward) -> Gradients:
    return [_as_x(back, _spread(back, back.dy))]


@gradient_of("mean")
def _mean(back: Backward) -> Gradients:
    (x,) = back.inputs
    count = math.prod(x.shape[axis] for axis in back.attributes["axes"])
    return [_as_x(back, _spread(back, call("div")(back.dy, max(count, 1))))]


@gradient_of("prod")
def _prod(back: Backward) -> Gradients:
    """The product of the others: where there is one zero, it alone has a gradient; where there are two, none has."""
    (x,) = back.inputs
    axes, where, equal = back.attributes["axes"], call("where"), call("equal")
    zero = equal(x, 0)
    others = where(zero, 1, x)
    rest = _spread(back, call("prod")(others, axes))
    zeros = _spread(back, call("sum")(call("cast")(zero, x.dtype), axes))
    of_others = where(equal(zeros, 0), call("div")(rest, conjugated(others)), 0)
    of_zero = where(equal(zeros, 1), rest, 0)
    return [_as_x(back, call("mul")(_spread(back, back.dy), where(zero, of_zero, of_others)))]


@gradient_of("max", "min")
def _largest(back: Backward) -> Gradients:
    """Elements that are equal to the result share the gradient."""
    (x,) = back.inputs
    found = call("cast")(call("equal")(x, _spread(back, back.output)), x.dtype)
    share = call("div")(back.dy, call("sum")(found, back.attributes["axes"]).reshape(back.dy.shape))
    return [call("mul")(found, _spread(back, share))]


@gradient_of("softmax")
def _softmax(back: Backward) -> Gradients:
    return [call("softmax_grad")(back.output, back.dy, back.attributes["axis"])]


@gradient_of("log_softmax")
def _log_softmax(back: Backward) -> Gradients:
    return [call("log_softmax_grad")(back.output, back.dy, back.attributes["axis"])]


@gradient_of("segment_sum")
def _segment_sum(back: Backward) -> Gradients:
    _, ids = back.inputs
    return [call("gather")(back.dy, ids, back.attributes["axis"], mode="zero"), None]
