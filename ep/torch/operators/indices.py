"""Operators that read and write elements at indices."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ep import ops
from ep.torch.table import Arguments, Call, add, along_axis, is_integer, with_axis

_REDUCTIONS: Final[dict[Any, Any]] = {
    None: "none", "sum": "add", "add": "add", "mean": "add", "prod": "mul", "multiply": "mul", "amax": "max",
    "amin": "min",
}  # fmt: skip
"""The reductions of `ep.ops`, by ATen's names."""
_NEGATIVE: Any = "wrap_negative"


def _embedding_backward(_: Call, a: Arguments) -> Any:
    if a.scale_grad_by_freq:
        raise NotImplementedError("scale_grad_by_freq")
    dy, indices = a.grad_output, a.indices
    if a.padding_idx >= 0:
        dy = ops.where(ops.equal(indices, a.padding_idx).reshape((*indices.shape, 1)), 0, dy)
    return ops.gather_grad(dy, indices, (a.num_weights, dy.shape[-1]), axis=0)


def _gathered(_: Call, x: Any, a: Arguments) -> Any:
    index, axis = with_axis(a.index), a.dim % len(x.shape)
    parts = [slice(None) if k == axis else slice(size) for k, size in enumerate(index.shape)]
    return ops.take_along_axis(ops.slice(x, *parts), index, axis)


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
    least, most = (-math.inf, math.inf) if dtype.kind not in "iub" else (0, 1)
    if dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    return least if reduce == "amax" else most


def _indexed(a: Arguments) -> tuple[Any, list[Any], int, list[int]]:
    """Return the operand with the axes that have indices beside each other, where the result has them; the indices, the
    first of these axes, and the order of all."""
    axes = [k for k, one in enumerate(a.indices) if one is not None]
    given, order = [a.indices[k] for k in axes], [*range(len(a.self.shape))]
    if any(one.dtype.kind == "b" for one in given):
        raise NotImplementedError("the number of elements that a mask selects depends on data")
    if axes == order[axes[0] : axes[-1] + 1]:
        return a.self, given, axes[0], order
    order = [*axes, *(k for k in order if k not in axes)]
    return ops.permute(a.self, order), given, 0, order


def _index(_: Call, a: Arguments) -> Any:
    x, given, axis = _indexed(a)[:3]
    return ops.index(x, given, axis, _NEGATIVE)


def _index_put(c: Call, a: Arguments) -> Any:
    new = c.cast(a.values)
    (first, mask), *others = [(k, one) for k, one in enumerate(a.indices) if one is not None]
    if mask.dtype.kind == "b" and new.size == 1 and not others and not a.accumulate:
        after = len(a.self.shape) - first - len(mask.shape)
        return ops.where(mask.reshape((*mask.shape, *[1] * after)), new.reshape(()), a.self)
    x, given, axis, order = _indexed(a)
    put = ops.index_put(x, given, new, axis, "add" if a.accumulate else "none", _NEGATIVE)
    return ops.permute(put, np.argsort(order).tolist())


add(
    {
        "embedding": lambda _, a: ops.gather(a.weight, a.indices, 0),
        "embedding_dense_backward": _embedding_backward,
        "index_select": along_axis(lambda _, x, a: ops.gather(x, with_axis(a.index), a.dim)),
        "gather": along_axis(_gathered),
        "scatter scatter_add": _scatter,
        "scatter_reduce.two": _scatter_reduce,
        "index.Tensor": _index,
        "index_put.default _unsafe_index_put.default": _index_put,
    }
)
