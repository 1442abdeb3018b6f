"""Reductions along axes, running sums, softmaxes, orders."""

from __future__ import annotations

from typing import Any

from ep import ops
from ep.torch.table import Arguments, AtenCall, Function, add


def _reduced(function: Any) -> Any:
    """Return the function of ATen's arguments: it reduces all axes for None, and for no axis."""
    return lambda _, a, **options: function(a.self, None if a.dim == [] else a.dim, keepdims=bool(a.keepdim), **options)


def _summed(function: Any) -> Function:
    """Return the same for a function that converts the elements to the type of the result first."""
    return lambda c, a: _reduced(function)(c, a, dtype=c.dtype)


def _var(c: AtenCall, a: Arguments) -> Any:
    found = _reduced(ops.var)(c, a, correction=1 if a.correction is None else a.correction)
    return found if c.name == "var" else (found, _reduced(ops.mean)(c, a))


def _taken(a: Arguments, places: Any) -> list[Any]:
    return [ops.take_along_axis(a.self, places, a.dim), places]


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
        "var.correction var_mean.correction": _var,
        "cumsum": lambda c, a: ops.cumulative_sum(a.self, a.dim, c.dtype),
        "cumprod": lambda c, a: ops.cumulative_prod(a.self, a.dim, c.dtype),
        "_softmax": lambda c, a: ops.softmax(c.cast(a.self), a.dim),
        "_log_softmax": lambda c, a: ops.log_softmax(c.cast(a.self), a.dim),
        "_softmax_backward_data": lambda _, a: ops.softmax_grad(dy=a.grad_output, y=a.output, axis=a.dim),
        "_log_softmax_backward_data": lambda _, a: ops.log_softmax_grad(dy=a.grad_output, y=a.output, axis=a.dim),
        "max.dim": lambda _, a: _taken(a, ops.argmax(a.self, a.dim, keepdims=True)),
        "min.dim": lambda _, a: _taken(a, ops.argmin(a.self, a.dim, keepdims=True)),
        "sort": lambda _, a: _taken(a, ops.argsort(a.self, a.dim, a.descending)),
        "topk.default": lambda _, a: ops.topk(a.self, a.k, a.dim, a.largest, a.sorted),
    }
)
