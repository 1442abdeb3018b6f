"""Reductions along axes, running sums, softmaxes, orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep import ops
from ep.torch.table import Arguments, Call, Function, add, along_axis, with_axis


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
    axes, keepdims = axes_of(a.self, a.dim), bool(a.keepdim)
    correction = int(a.unbiased) if a.unbiased is not None else 1 if a.correction is None else a.correction
    found = ops.var(a.self, axes, correction=correction, keepdims=keepdims)
    return found if c.name == "var" else (found, ops.mean(a.self, axes, keepdims=keepdims))


def _softmax_backward(function: Any) -> Function:
    return lambda c, a: function(dy=with_axis(a.grad_output), y=with_axis(a.output), axis=a.dim).reshape(c.shape)


def _taken(x: Any, places: Any, axis: int) -> list[Any]:
    return [ops.take_along_axis(x, places, axis), places]


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
        "cumsum": along_axis(lambda c, x, a: ops.cumulative_sum(c.cast(x), a.dim, dtype=c.dtype)),
        "cumprod": along_axis(lambda c, x, a: ops.cumulative_prod(c.cast(x), a.dim, dtype=c.dtype)),
        "_softmax": along_axis(lambda c, x, a: ops.softmax(c.cast(x), a.dim)),
        "_log_softmax": along_axis(lambda c, x, a: ops.log_softmax(c.cast(x), a.dim)),
        "_softmax_backward_data": _softmax_backward(ops.softmax_grad),
        "_log_softmax_backward_data": _softmax_backward(ops.log_softmax_grad),
        "argmax": along_axis(lambda _, x, a: ops.argmax(x, a.dim, bool(a.keepdim))),
        "argmin": along_axis(lambda _, x, a: ops.argmin(x, a.dim, bool(a.keepdim))),
        "max.dim": along_axis(lambda _, x, a: _taken(x, ops.argmax(x, a.dim, True), a.dim)),
        "min.dim": along_axis(lambda _, x, a: _taken(x, ops.argmin(x, a.dim, True), a.dim)),
        "sort": along_axis(lambda _, x, a: _taken(x, ops.argsort(x, a.dim, a.descending), a.dim)),
        "topk.default": along_axis(lambda _, x, a: ops.topk(x, a.k, a.dim, a.largest, a.sorted)),
    }
)
