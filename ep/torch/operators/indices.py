"""Operators that select elements by indices, and their gradients."""

from __future__ import annotations

from typing import Any

from ep import ops
from ep.torch.table import Call, computes


@computes("embedding")
def _(call: Call, w: Any, i: Any, padding: int = -1, scale: bool = False, sparse: bool = False) -> Any:
    return ops.gather(w, i, 0)


@computes("index_select")
def _(call: Call, x: Any, dim: int, i: Any) -> Any:
    if not x.shape:
        return x
    return ops.gather(x, i.reshape((i.size,)), dim % len(x.shape))


@computes("gather")
def _(call: Call, x: Any, dim: int, i: Any, *, sparse_grad: bool = False) -> Any:
    if not x.shape or not i.shape:
        return ops.gather(x.reshape((x.size,)), i.reshape((i.size,)), 0).reshape(i.shape)
    dim %= len(x.shape)
    parts = [slice(None) if k == dim else slice(size) for k, size in enumerate(i.shape)]
    return ops.take_along_axis(ops.slice(x, *parts), i, dim)


@computes("embedding_dense_backward")
def _(call: Call, dy: Any, i: Any, count: int, padding: int, scale: bool) -> Any:
    if scale:
        raise NotImplementedError("scale_grad_by_freq")
    if padding >= 0:
        dy = ops.where(ops.equal(i, padding).reshape((*i.shape, 1)), 0, dy)
    return ops.gather_grad(dy, i, (count, dy.shape[-1]), axis=0)
