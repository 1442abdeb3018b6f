"""Operators that read and write elements at indices, and orders of elements."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ep import ops
from ep.torch.table import Call, Function, computes, is_integer

_REDUCTIONS: Final = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "add": "add", "multiply": "mul"}
_NEGATIVE: Final = "wrap_negative"


def _with_axis(x: Any) -> Any:
    """Return an array with at least one axis."""
    return x if x.shape else x.reshape((1,))


@computes("embedding")
def _(call: Call, w: Any, i: Any, padding: int = -1, scale: bool = False, sparse: bool = False) -> Any:
    return ops.gather(w, i, 0)


@computes("embedding_dense_backward")
def _(call: Call, dy: Any, i: Any, count: int, padding: int, scale: bool) -> Any:
    if scale:
        raise NotImplementedError("scale_grad_by_freq")
    if padding >= 0:
        dy = ops.where(ops.equal(i, padding).reshape((*i.shape, 1)), 0, dy)
    return ops.gather_grad(dy, i, (count, dy.shape[-1]), axis=0)


@computes("index_select")
def _(call: Call, x: Any, dim: int, i: Any) -> Any:
    return ops.gather(_with_axis(x), _with_axis(i), dim % max(len(x.shape), 1)).reshape(call.shape)


@computes("gather")
def _(call: Call, x: Any, dim: int, i: Any, *, sparse_grad: bool = False) -> Any:
    x, i = _with_axis(x), _with_axis(i)
    dim %= len(x.shape)
    parts = [slice(None) if k == dim else slice(size) for k, size in enumerate(i.shape)]
    return ops.take_along_axis(ops.slice(x, *parts), i, dim).reshape(call.shape)


@computes("scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce", "scatter_add")
def _(call: Call, x: Any, dim: int, i: Any, new: Any, *, reduce: str | None = None) -> Any:
    kind = "sum" if call.node.target._schema.name == "aten::scatter_add" else reduce
    return _scattered(call, x, dim, i, new, "none" if kind is None else _REDUCTIONS[kind])


@computes("scatter_reduce.two")
def _(call: Call, x: Any, dim: int, i: Any, new: Any, reduce: str, *, include_self: bool = True) -> Any:
    if not include_self:
        x = _scattered(call, x, dim, i, _neutral(reduce, x.dtype), "none")
    found = _scattered(call, x, dim, i, new, _REDUCTIONS.get(reduce, "add"))
    if reduce != "mean":
        return found
    counts = _scattered(call, call.filled(x.shape, int(include_self)), dim, i, 1, "add")
    return (ops.floor_div if is_integer(x) else ops.div)(found, ops.maximum(counts, call.cast(1)))


def _neutral(reduce: str, dtype: Any) -> Any:
    """Return the number that a reduction does not see."""
    if reduce in ("amax", "amin"):
        least, most = (-math.inf, math.inf) if dtype.kind in "fV" else _bounds(dtype)
        return least if reduce == "amax" else most
    return int(reduce == "prod")


def _bounds(dtype: Any) -> tuple[int, int]:
    return (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def _scattered(call: Call, x: Any, dim: int, i: Any, new: Any, reduction: Any) -> Any:
    x, i = _with_axis(x), _with_axis(i)
    new = _with_axis(call.cast(new))
    if len(new.shape) == len(i.shape):
        new = ops.slice(new, *(slice(size) for size in i.shape)) if new.size > 1 else new
    return ops.scatter(x, i, new, dim % len(x.shape), reduction).reshape(call.shape)


def _adjacent(x: Any, indices: Any) -> tuple[Any, list[Any], int]:
    """Return an array whose indexed axes are adjacent, where NumPy and PyTorch put the result; the indices, and the
    first of these axes."""
    axes = [k for k, one in enumerate(indices) if one is not None]
    given = [indices[k] for k in axes]
    if any(one.dtype.kind == "b" for one in given):
        raise NotImplementedError("the number of elements that a mask selects depends on data")
    if axes == [*range(axes[0], axes[0] + len(axes))]:
        return x, given, axes[0]
    return ops.permute(x, [*axes, *(k for k in range(len(x.shape)) if k not in axes)]), given, 0


@computes("index.Tensor")
def _(call: Call, x: Any, indices: Any) -> Any:
    x, given, axis = _adjacent(x, indices)
    return ops.index(x, given, axis, _NEGATIVE)


@computes("index_put", "_unsafe_index_put")
def _(call: Call, x: Any, indices: Any, new: Any, accumulate: bool = False) -> Any:
    axes = [k for k, one in enumerate(indices) if one is not None]
    mask = indices[axes[0]]
    if mask.dtype.kind == "b" and len(axes) == new.size == 1 and not accumulate:
        after = len(x.shape) - axes[0] - len(mask.shape)
        return ops.where(mask.reshape((*mask.shape, *[1] * after)), call.cast(new).reshape(()), x)
    moved, given, axis = _adjacent(x, indices)
    found = ops.index_put(moved, given, call.cast(new), axis, "add" if accumulate else "none", _NEGATIVE)
    if moved is x:
        return found
    order = [*axes, *(k for k in range(len(x.shape)) if k not in axes)]
    return ops.permute(found, [order.index(k) for k in range(len(order))])


@computes("masked_fill.Scalar", "masked_fill.Tensor")
def _(call: Call, x: Any, mask: Any, value: Any) -> Any:
    return ops.where(mask, call.cast(value), x)


def _of_extreme(function: Function) -> Function:
    def compute(call: Call, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        x, rank = _with_axis(x), len(x.shape)
        return function(x, None if dim is None else dim % max(rank, 1), keepdim).reshape(call.shape)

    return compute


computes("argmax")(_of_extreme(ops.argmax))
computes("argmin")(_of_extreme(ops.argmin))


@computes("max.dim", "min.dim")
def _(call: Call, x: Any, dim: int, keepdim: bool = False) -> Any:
    place = ops.argmax if call.node.target._schema.name == "aten::max" else ops.argmin
    shape, x = call.shape, _with_axis(x)
    dim %= len(x.shape)
    i = place(x, dim, True)
    return [ops.take_along_axis(x, i, dim).reshape(shape), i.reshape(shape)]


@computes("sort.default", "sort.stable")
def _(call: Call, x: Any, dim: int = -1, descending: bool = False, *, stable: Any = None) -> Any:
    shape, x = call.shape, _with_axis(x)
    i = ops.argsort(x, dim, descending)
    return [ops.take_along_axis(x, i, dim).reshape(shape), i.reshape(shape)]


@computes("topk")
def _(call: Call, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    if not x.shape:
        return [x, call.number(0, "int64")]
    return ops.topk(x, k, dim, largest, sorted)
