"""Reductions along axes, running sums, softmaxes, orders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ep import ops
from ep.torch.table import Arguments, Call, Function, add, with_axis


def axes_of(x: Any, dim: Any) -> tuple[int, ...]:
    """Return the axes that an argument of ATen names, counted from the first: all for None, and for no axis."""
    rank = len(x.shape)
    if dim is None or dim == []:
        return tuple(range(rank))
    return tuple(axis % rank for axis in ([dim] if isinstance(dim, int) else dim)) if rank else ()


def summed(x: Any, axes: Any, keepdims: bool = False) -> Any:
    """Return sums in the type of the operand."""
    return ops.sum(x, axes, dtype=x.dtype, keepdims=keepdims) if axes else x


def _reduced(function: Any) -> Function:
    """Return the function of ATen's arguments, in the type of the result."""

    def compute(c: Call, a: Arguments) -> Any:
        x, axes = c.cast(a.self), axes_of(a.self, a.dim)
        return function(x, axes, keepdims=bool(a.keepdim)) if axes else x

    return compute


def _truth(function: Any) -> Function:
    def compute(c: Call, a: Arguments) -> Any:
        truth = a.self if a.self.dtype == np.bool_ else ops.not_equal(a.self, 0)
        axes = axes_of(truth, a.dim)
        return c.cast(function(truth, axes, keepdims=bool(a.keepdim)) if axes else truth)

    return compute


def _var(c: Call, a: Arguments) -> Any:
    x, axes = a.self, axes_of(a.self, a.dim)
    correction = int(a.unbiased) if a.unbiased is not None else 1 if a.correction is None else a.correction
    mean = ops.mean(x, axes, keepdims=True) if axes else x
    away = ops.sub(x, mean)
    count = math.prod(x.shape[axis] for axis in axes) - correction
    found = ops.div(summed(ops.mul(away, away), axes, bool(a.keepdim)), c.cast(max(count, 0)))
    return found if c.name == "var" else (found, mean.reshape(found.shape))


def _along(function: Any, of_number: Any = lambda x: x) -> Function:
    """Return the function of an array and an axis; an array without axes is another case."""
    return lambda c, a: c.cast(function(c.cast(a.self), a.dim) if a.self.shape else of_number(c.cast(a.self)))


def _softmax_backward(function: Any) -> Function:
    return lambda c, a: c.cast(
        function(dy=a.grad_output, y=a.output, axis=a.dim) if c.shape else ops.sub(a.output, a.output)
    )


def _extreme(function: Any) -> Function:
    def compute(c: Call, a: Arguments) -> Any:
        return function(with_axis(a.self), a.dim, bool(a.keepdim)).reshape(c.shape)

    return compute


def _extreme_and_place(function: Any) -> Function:
    def compute(c: Call, a: Arguments) -> Any:
        x = with_axis(a.self)
        places = function(x, a.dim, True)
        return [ops.take_along_axis(x, places, a.dim).reshape(c.shape), places.reshape(c.shape)]

    return compute


def _sort(c: Call, a: Arguments) -> Any:
    x = with_axis(a.self)
    places = ops.argsort(x, a.dim, a.descending)
    return [ops.take_along_axis(x, places, a.dim).reshape(c.shape), places.reshape(c.shape)]


def _top(c: Call, a: Arguments) -> Any:
    found = ops.topk(with_axis(a.self), a.k, a.dim, a.largest, a.sorted)
    return [one.reshape(c.shape) for one in found]


add(
    {
        "sum": _reduced(summed),
        "prod": _reduced(lambda x, axes, keepdims: ops.prod(x, axes, dtype=x.dtype, keepdims=keepdims)),
        "mean": _reduced(ops.mean),
        "amax max.default": _reduced(ops.max),
        "amin min.default": _reduced(ops.min),
        "any": _truth(ops.any),
        "all": _truth(ops.all),
        "var.correction var.dim var_mean.correction": _var,
        "cumsum": _along(lambda x, axis: ops.cumulative_sum(x, axis, dtype=x.dtype)),
        "cumprod": _along(lambda x, axis: ops.cumulative_prod(x, axis, dtype=x.dtype)),
        "_softmax": _along(ops.softmax, lambda x: ops.div(x, x)),
        "_log_softmax": _along(ops.log_softmax, lambda x: ops.sub(x, x)),
        "_softmax_backward_data": _softmax_backward(ops.softmax_grad),
        "_log_softmax_backward_data": _softmax_backward(ops.log_softmax_grad),
        "argmax": _extreme(ops.argmax),
        "argmin": _extreme(ops.argmin),
        "max.dim": _extreme_and_place(ops.argmax),
        "min.dim": _extreme_and_place(ops.argmin),
        "sort": _sort,
        "topk.default": _top,
    }
)
