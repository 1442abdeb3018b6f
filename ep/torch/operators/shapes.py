"""Operators that read and write elements at other places: views, joins, pads, indices; and those that make arrays."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ep import ops
from ep.torch.table import Arguments, AtenCall, add, is_integer

_REDUCTIONS: Final[dict[Any, Any]] = {
    None: "none", "sum": "add", "add": "add", "mean": "add", "prod": "mul", "multiply": "mul", "amax": "max",
    "amin": "min",
}  # fmt: skip
"""The reductions of `ep.ops`, by ATen's names."""
_NEGATIVE: Any = "wrap_negative"


def _cut(x: Any, axis: int, part: Any) -> Any:
    """Return a part of an axis: a slice, or an element without the axis."""
    return x[(*[slice(None)] * (axis % len(x.shape)), part)]


def _diagonal(c: AtenCall, a: Arguments) -> Any:
    rank = len(a.self.shape)
    axes = a.dim1 % rank, a.dim2 % rank
    x = ops.permute(a.self, [*(k for k in range(rank) if k not in axes), *axes])
    columns = x.shape[-1]
    begin = a.offset if a.offset > 0 else -a.offset * columns
    part = slice(begin, begin + c.shape[-1] * (columns + 1), columns + 1)
    return _cut(x.reshape((*x.shape[:-2], x.shape[-2] * columns)), -1, part)


def _unfold(c: AtenCall, a: Arguments) -> Any:
    axis = a.dimension % len(a.self.shape)
    places = np.arange(c.shape[axis])[:, None] * a.step + np.arange(a.size)
    return ops.moveaxis(ops.gather(a.self, c.constant(places), axis), axis + 1, -1)


def _cat(c: AtenCall, a: Arguments) -> Any:
    parts = [c.cast(x) for x in a.tensors if x.shape != (0,)] or [c.cast(a.tensors[0])]
    return ops.concat(parts, a.dim) if len(parts) > 1 else parts[0]


def _replaced(c: AtenCall, a: Arguments) -> Any:
    """Replace a part of an axis, or an element of it."""
    x, new, axis = a.self, c.cast(a.src), a.dim % len(a.self.shape)
    size = x.shape[axis]
    if a.index is not None:
        new = new.reshape((*x.shape[:axis], 1, *x.shape[axis + 1 :]))
    first, last = (a.start, a.end) if a.index is None else (a.index % size, a.index % size + 1)
    begin, end, step = slice(first, last, a.step).indices(size)
    if step == 1:
        parts = [(0, begin, x), (begin, end, new), (max(begin, end), size, x)]
        kept = [one if one is new else _cut(one, axis, slice(low, high)) for low, high, one in parts if low < high]
        return ops.concat(kept, axis) if len(kept) > 1 else kept[0] if kept else x
    order = np.arange(size)
    order[begin:end:step] = size + np.arange(new.shape[axis])
    return ops.gather(ops.concat([x, new], axis), c.constant(order), axis)


def _arange(c: AtenCall, a: Arguments) -> Any:
    start, step = a.start or 0, 1 if a.step is None else a.step
    if c.dtype.kind in "iu":
        start, step = int(start), int(step)
    return c.constant((np.arange(math.prod(c.shape)) * step + start).astype(c.dtype))


def _linspace(c: AtenCall, a: Arguments) -> Any:
    """As in eager mode, the ends first have the type of the result, and each half is counted from its end."""
    start, end = (c.cast(c.cast(x), np.float64) for x in (a.start, a.end))
    place, last = np.arange(a.steps, dtype=np.float64), a.steps - 1
    step = ops.div(ops.sub(end, start), max(last, 1))
    parts = [ops.add(start, ops.mul(step, c.constant(place))), ops.sub(end, ops.mul(step, c.constant(last - place)))]
    return c.cast(ops.where(c.constant(place < max(a.steps // 2, 1)), *parts))


def _pad(_: AtenCall, a: Arguments) -> Any:
    width = [*zip(a.pad[::2], a.pad[1::2], strict=True)][::-1]
    return ops.pad(a.self, [*[(0, 0)] * (len(a.self.shape) - len(width)), *width], constant_values=a.value)


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
    "view.default _unsafe_view reshape squeeze unsqueeze": lambda c, a: a.self.reshape(c.shape),
    "expand": lambda c, a: ops.expand(a.self, c.shape),
    "permute": lambda _, a: ops.permute(a.self, [axis % len(a.dims) for axis in a.dims]) if a.dims else a.self,
    "slice.Tensor": lambda _, a: _cut(a.self, a.dim, slice(a.start, a.end, a.step)),
    "select.int": lambda _, a: _cut(a.self, a.dim, a.index),
    "split_with_sizes": lambda _, a: ops.split(a.self, np.cumsum(a.split_sizes)[:-1].tolist(), a.dim),
    "diagonal": _diagonal,
    "unfold": _unfold,
    "cat": _cat,
    "repeat": lambda _, a: ops.repeat(a.self, *a.repeats) if a.repeats else a.self,
    "flip": lambda _, a: ops.flip(a.self, tuple(a.dims)) if a.dims else a.self,
    "slice_scatter select_scatter": _replaced,  # the decomposition's strides are not those of eager mode
    "constant_pad_nd": _pad,
    "full full_like": lambda c, a: c.filled(a.fill_value),
    "scalar_tensor": lambda c, a: c.cast(a.s),
    "empty.memory_format empty_permuted empty_strided new_empty_strided": lambda c, _: c.filled(0),
    "arange": _arange,
    "linspace": _linspace,
    "embedding": lambda _, a: ops.gather(a.weight, a.indices, 0),
    "embedding_dense_backward": _embedding_backward,
    "index_select": lambda _, a: ops.gather(a.self, a.index, a.dim),
    "gather": _gathered,
    "scatter scatter_add": _scatter,
    "scatter_reduce.two": _scatter_reduce,
    "index.Tensor": lambda _, a: ops.index(a.self, a.indices, mode=_NEGATIVE),  # without masks: sizes depend on data
    "index_put.default _unsafe_index_put.default": _index_put,
})  # fmt: skip
