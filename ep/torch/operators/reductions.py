"""Reductions along axes, running sums, and softmaxes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ep import ops
from ep.torch.table import Call, Function, computes


def axes_of(x: Any, dim: Any) -> tuple[int, ...]:
    """Return the axes that an argument of ATen names, counted from the first: all for None, and for no axis."""
    rank = len(x.shape)
    if dim is None or dim == []:
        return tuple(range(rank))
    given = [dim] if isinstance(dim, int) else dim
    return tuple(axis % max(rank, 1) for axis in given) if rank else ()


def summed(x: Any, axes: Any, keepdims: bool = False) -> Any:
    """Return sums in the type of the operand."""
    return ops.sum(x, axes, dtype=x.dtype, keepdims=keepdims) if axes else x


def _reduced(function: Function) -> Function:
    """Return the function of ATen's arguments, in the type of the result."""

    def compute(call: Call, x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        x, axes = call.cast(x), axes_of(x, dim)
        return function(x, axes, keepdims=keepdim) if axes else x

    return compute


def _product(x: Any, axes: Any, keepdims: bool = False) -> Any:
    return ops.prod(x, axes, dtype=x.dtype, keepdims=keepdims)


computes("sum.dim_IntList", "sum.default")(_reduced(summed))
computes("mean.dim", "mean.default")(_reduced(ops.mean))
computes("amax")(_reduced(ops.max))
computes("amin")(_reduced(ops.min))
computes("max.default")(_reduced(ops.max))
computes("min.default")(_reduced(ops.min))
computes("prod")(_reduced(_product))


def _truth(function: Function) -> Function:
    def compute(call: Call, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        truth = x if x.dtype == np.bool_ else ops.not_equal(x, call.number(0, x.dtype))
        axes = axes_of(x, dim)
        return call.cast(function(truth, axes, keepdims=keepdim) if axes else truth)

    return compute


computes("any")(_truth(ops.any))
computes("all")(_truth(ops.all))


def variance(call: Call, x: Any, axes: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """Return the variance along axes, and the mean, whose axes are kept."""
    mean = ops.mean(x, axes, keepdims=True) if axes else x
    away = ops.sub(x, mean)
    count = math.prod(x.shape[axis] for axis in axes) - correction
    total = summed(ops.mul(away, away), axes, keepdim)
    return ops.div(total, call.number(max(count, 0), x.dtype)), mean


@computes("var.correction", "var.dim", "var_mean.correction")
def _(call: Call, x: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = 1) -> Any:
    found, mean = variance(call, x, axes_of(x, dim), (1 if correction is None else correction) * unbiased, keepdim)
    if call.node.target._schema.name == "aten::var_mean":
        return found, mean if keepdim else mean.reshape(found.shape)
    return found


@computes("cumsum")
def _(call: Call, x: Any, dim: int, *, dtype: Any = None) -> Any:
    return ops.cumulative_sum(call.cast(x), dim, dtype=call.dtype) if x.shape else call.cast(x)


@computes("cumprod")
def _(call: Call, x: Any, dim: int, *, dtype: Any = None) -> Any:
    return ops.cumulative_prod(call.cast(x), dim, dtype=call.dtype) if x.shape else call.cast(x)


@computes("_softmax")
def _(call: Call, x: Any, dim: int, half_to_float: bool) -> Any:
    x = call.cast(x)
    return ops.softmax(x, dim) if len(x.shape) else ops.div(x, x)


@computes("_log_softmax")
def _(call: Call, x: Any, dim: int, half_to_float: bool) -> Any:
    x = call.cast(x)
    return ops.log_softmax(x, dim) if len(x.shape) else ops.sub(x, x)


@computes("_softmax_backward_data")
def _(call: Call, dy: Any, y: Any, dim: int, dtype: Any) -> Any:
    return call.cast(ops.softmax_grad(dy=dy, y=y, axis=dim)) if len(y.shape) else call.cast(ops.sub(dy, dy))


@computes("_log_softmax_backward_data")
def _(call: Call, dy: Any, y: Any, dim: int, dtype: Any) -> Any:
    return call.cast(ops.log_softmax_grad(dy=dy, y=y, axis=dim)) if len(y.shape) else call.cast(ops.sub(dy, dy))
