"""Operators that read and write elements at indices."""

from __future__ import annotations

from typing import Any, Final

from ep import ops
from ep.torch.table import Arguments, AtenCall, add, is_integer

_REDUCTIONS: Final[dict[Any, Any]] = {
    None: "none", "sum": "add", "add": "add", "mean": "add", "prod": "mul", "multiply": "mul", "amax": "max",
    "amin": "min",
}  # fmt: skip
"""The reductions of `ep.ops`, by ATen's names."""
_NEGATIVE: Any = "wrap_negative"


def _embedding_backward(_: AtenCall, a: Arguments) -> Any:
    if a.scale_grad_by_freq:
        raise NotImplementedError("scale_grad_by_freq")
    dy, indices = a.grad_output, a.indices
    if a.padding_idx >= 0:
        dy = ops.where(ops.equal(indices, a.padding_idx).reshape((*indices.shape, 1)), 0, dy)
    return ops.gather_grad(dy, indices, (a.num_weights, dy.shape[-1]), axis=0)


def _gathered(_: AtenCall, a: Arguments) -> Any:
    x, axis = a.self, a.dim % len(a.self.shape)
    parts = [slice(None) if k == axis else slice(size) for k, size in enumerate(a.index.shape)]
    return ops.take_along_axis(ops.slice(x, *parts), a.index, axis)


def _scattered(c: AtenCall, a: Arguments, x: Any, new: Any, reduction: Any) -> Any:
    new = c.cast(new)
    if len(new.shape) == len(a.index.shape) and new.size > 1:
        new = ops.slice(new, *map(slice, a.index.shape))
    return ops.scatter(x, a.index, new, a.dim, reduction)


def _scatter(c: AtenCall, a: Arguments) -> Any:
    reduce = "sum" if c.name == "scatter_add" else a.reduce
    return _scattered(c, a, a.self, a.value if a.src is None else a.src, _REDUCTIONS[reduce])


def _scatter_reduce(c: AtenCall, a: Arguments) -> Any:
    x = a.self
    if not a.include_self:  # a number that changes no sum or product, or one of those of which the extreme is wanted
        x = _scattered(c, a, x, a.src if a.reduce in ("amax", "amin") else int(a.reduce == "prod"), "none")
    found = _scattered(c, a, x, a.src, _REDUCTIONS[a.reduce])
    if a.reduce != "mean":
        return found
    counts = _scattered(c, a, ops.expand(c.cast(int(a.include_self)), x.shape), 1, "add")
    return (ops.floor_div if is_integer(x) else ops.div)(found, ops.maximum(counts, c.cast(1)))


def _index_put(c: AtenCall, a: Arguments) -> Any:
    new = c.cast(a.values)
    (first, mask), *others = [(k, one) for k, one in enumerate(a.indices) if one is not None]
    if mask.dtype.kind == "b" and new.size == 1 and not others and not a.accumulate:
        after = len(a.self.shape) - first - len(mask.shape)
        return ops.where(mask.reshape((*mask.shape, *[1] * after)), new.reshape(()), a.self)
    return ops.index_put(a.self, a.indices, new, 0, "add" if a.accumulate else "none", _NEGATIVE)


add({
    "embedding": lambda _, a: ops.gather(a.weight, a.indices, 0),
    "embedding_dense_backward": _embedding_backward,
    "index_select": lambda _, a: ops.gather(a.self, a.index, a.dim),
    "gather": _gathered,
    "scatter scatter_add": _scatter,
    "scatter_reduce.two": _scatter_reduce,
    "index.Tensor": lambda _, a: ops.index(a.self, a.indices, mode=_NEGATIVE),  # without masks: sizes depend on data
    "index_put.default _unsafe_index_put.default": _index_put,
})  # fmt: skip
