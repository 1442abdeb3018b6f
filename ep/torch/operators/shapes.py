"""Operators that give elements other places: views, joins, pads; and those that make arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ep import ops
from ep.torch.table import Arguments, AtenCall, add


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


def _scatter(c: AtenCall, a: Arguments) -> Any:
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
    "stack": lambda c, a: ops.stack([c.cast(x) for x in a.tensors], a.dim % len(c.shape)),
    "repeat": lambda _, a: ops.repeat(a.self, *a.repeats) if a.repeats else a.self,
    "flip": lambda _, a: ops.flip(a.self, tuple(a.dims)) if a.dims else a.self,
    "slice_scatter select_scatter": _scatter,
    "constant_pad_nd": _pad,
    "full full_like": lambda c, a: c.filled(a.fill_value),
    "scalar_tensor": lambda c, a: c.cast(a.s),
    "empty.memory_format empty_permuted empty_strided new_empty_strided": lambda c, _: c.filled(0),
    "arange": _arange,
    "linspace": _linspace,
})  # fmt: skip
