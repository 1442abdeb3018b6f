"""Operators that read and write elements at indices."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ep import ops
from ep.torch.table import Arguments, Call, add, is_integer, with_axis

_REDUCTIONS: Final[dict[Any, Any]] = {
    None: "none", "sum": "add", "add": "add", "mean": "add", "prod": "mul", "multiply": "mul", "amax": "max",
    "amin": "min",
}  # fmt: skip
_NEGATIVE: Any = "wrap_negative"


def _embedding_backward(_: Call, a: Arguments) -> Any:
    if a.scale_grad_by_freq:
        raise NotImplementedError("scale_grad_by_freq")
    dy, indices = a.grad_output, a.indices
    if a.padding_idx >= 0:
        dy = ops.where(ops.equal(indices, a.padding_idx).reshape((*indices.shape, 1)), 0, dy)
    return ops.gather_grad(dy, indices, (a.num_weights, dy.shape[-1]), axis=0)


def _gather(c: Call, a: Arguments) -> Any:
    x, index = with_axis(a.self), with_axis(a.index)
    axis = a.dim % len(x.shape)
    parts = [slice(None) if k == axis else slice(size) for k, size in enumerate(index.shape)]
    return ops.take_along_axis(ops.slice(x, *parts), index, axis).reshape(c.shape)


def _scattered(c: Call, a: Arguments, x: Any, new: Any, reduction: Any) -> Any:
    index, new = with_axis(a.index), with_axis(c.cast(new))
    if len(new.shape) == len(index.shape) and new.size > 1:
        new = ops.slice(new, *(slice(size) for size in index.shape))
    return ops.scatter(with_axis(x), index, new, a.dim, reduction).reshape(c.shape)


def _scatter(c: Call, a: Arguments) -> Any:
    reduce = "sum" if c.name == "scatter_add" else a.reduce
    return _scattered(c, a, a.self, a.value if a.src is None else a.src, _REDUCTIONS[reduce])


def _scatter_reduce(c: Call, a: Arguments) -> Any:
    x = a.self if a.include_self else _scattered(c, a, a.self, _neutral(a.reduce, a.self.dtype), "none")
    found = _scattered(c, a, x, a.src, _REDUCTIONS[a.reduce])
    if a.reduce != "mean":
        return found
    counts = _scattered(c, a, c.filled(int(a.include_self)), 1, "add")
    return (ops.floor_div if is_integer(x) else ops.div)(found, ops.maximum(counts, c.cast(1)))


def _neutral(reduce: str, dtype: Any) -> Any:
    """Return the number that a reduction does not see."""
    if reduce not in ("amax", "amin"):
        return int(reduce == "prod")
    sign = -1 if reduce == "amax" else 1
    if dtype.kind not in "iub":
        return sign * math.inf
    least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return least if sign < 0 else most


def _axes_of(a: Arguments) -> list[int]:
    """Return the axes that have indices."""
    return [k for k, one in enumerate(a.indices) if one is not None]


def _order(a: Arguments) -> list[int] | None:
    """Return the order in which the axes with indices come first; None if they are adjacent: there the result is."""
    axes = _axes_of(a)
    if axes == [*range(axes[0], axes[0] + len(axes))]:
        return None
    return [*axes, *(k for k in range(len(a.self.shape)) if k not in axes)]


def _given(a: Arguments) -> list[Any]:
    given = [one for one in a.indices if one is not None]
    if any(one.dtype.kind == "b" for one in given):
        raise NotImplementedError("the number of elements that a mask selects depends on data")
    return given


def _index(_: Call, a: Arguments) -> Any:
    order = _order(a)
    if order is None:
        return ops.index(a.self, _given(a), _axes_of(a)[0], _NEGATIVE)
    return ops.index(ops.permute(a.self, order), _given(a), 0, _NEGATIVE)


def _index_put(c: Call, a: Arguments) -> Any:
    axes, new = _axes_of(a), c.cast(a.values)
    mask = a.indices[axes[0]]
    if mask.dtype.kind == "b" and len(axes) == new.size == 1 and not a.accumulate:
        after = len(a.self.shape) - axes[0] - len(mask.shape)
        return ops.where(mask.reshape((*mask.shape, *[1] * after)), new.reshape(()), a.self)
    order, reduction = _order(a), _REDUCTIONS["add" if a.accumulate else None]
    if order is None:
        return ops.index_put(a.self, _given(a), new, axes[0], reduction, _NEGATIVE)
    found = ops.index_put(ops.permute(a.self, order), _given(a), new, 0, reduction, _NEGATIVE)
    return ops.permute(found, np.argsort(order).tolist())


add(
    {
        "embedding": lambda _, a: ops.gather(a.weight, a.indices, 0),
        "embedding_dense_backward": _embedding_backward,
        "index_select": lambda c, a: ops.gather(with_axis(a.self), with_axis(a.index), a.dim).reshape(c.shape),
        "gather": _gather,
        "scatter scatter_add": _scatter,
        "scatter_reduce.two": _scatter_reduce,
        "index.Tensor": _index,
        "index_put.default _unsafe_index_put.default": _index_put,
    }
)
