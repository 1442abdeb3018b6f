"""Reductions along axes, running sums, softmaxes, orders."""

from __future__ import annotations

from typing import Any

from ep import ops
from ep.torch.table import AtenCall, Function, add, in_order


def _reduced(function: Any) -> Any:
    """Return the function of ATen's arguments: it reduces all axes for None, and for no axis."""
    return lambda c, **options: function(c.self, None if c.dim == [] else c.dim, keepdims=bool(c.keepdim), **options)


def _summed(function: Any) -> Function:
    """Return the same for a function that converts the elements to the type of the result first."""
    return lambda c: _reduced(function)(c, dtype=c.dtype)


def _var(c: AtenCall) -> Any:
    return _reduced(ops.var)(c, correction=1 if c.correction is None else c.correction)


def _taken(c: AtenCall, places: Any) -> list[Any]:
    return [ops.take_along_axis(c.self, places, c.dim), places]


add(
    {
        "sum": _summed(ops.sum),
        "prod": _summed(ops.prod),
        "mean": _summed(ops.mean),
        "amax max.default": _reduced(ops.max),
        "amin min.default": _reduced(ops.min),
        "any": _reduced(ops.any),
        "all": _reduced(ops.all),
        "argmax": _reduced(ops.argmax),
        "argmin": _reduced(ops.argmin),
        "var.correction": _var,
        "var_mean.correction": lambda c: (_var(c), _reduced(ops.mean)(c)),
        "cumsum": lambda c: ops.cumulative_sum(c.self, c.dim, c.dtype),
        "cumprod": lambda c: ops.cumulative_prod(c.self, c.dim, c.dtype),
        "_softmax": lambda c: ops.softmax(c.cast(c.self), c.dim),
        "_log_softmax": lambda c: ops.log_softmax(c.cast(c.self), c.dim),
        "_softmax_backward_data": lambda c: ops.softmax_grad(dy=c.grad_output, y=c.output, axis=c.dim),
        "_log_softmax_backward_data": lambda c: ops.log_softmax_grad(dy=c.grad_output, y=c.output, axis=c.dim),
        "max.dim": lambda c: _taken(c, ops.argmax(c.self, c.dim, keepdims=True)),
        "min.dim": lambda c: _taken(c, ops.argmin(c.self, c.dim, keepdims=True)),
        "sort": lambda c: _taken(c, ops.argsort(c.self, c.dim, c.descending)),
        "topk.default": in_order(ops.topk),
    }
)
