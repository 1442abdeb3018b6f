"""Operators that give elements other places: views, joins, pads."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ep import ops
from ep.torch.table import Call, add_all, computes, expanded

_ALL = slice(None)


def _cut(x: Any, axis: int, part: Any) -> Any:
    """Return a part of an axis: a slice, or an element without the axis."""
    return x[(*[_ALL] * (axis % len(x.shape)), part)]


add_all({
    "view.default _unsafe_view reshape": lambda _, x, shape: x.reshape(_sizes(x, shape)),
    "permute": lambda _, x, dims: ops.permute(x, [axis % len(x.shape) for axis in dims]) if dims else x,
    "t": lambda _, x: ops.permute(x, [*range(len(x.shape))][::-1]) if len(x.shape) > 1 else x,
    "slice.Tensor": lambda _, x, dim=0, start=None, end=None, step=1: _cut(x, dim, slice(start, end, step)),
    "select.int": lambda _, x, dim, index: _cut(x, dim, index),
    "stack": lambda call, xs, dim=0: ops.stack([call.cast(x) for x in xs], dim % (len(xs[0].shape) + 1)),
    "unbind.int": lambda _, x, dim=0: [_cut(x, dim, k) for k in range(x.shape[dim])],
    "repeat": lambda _, x, sizes: ops.repeat(x, *sizes) if sizes else x,
    "flip": lambda _, x, dims: ops.flip(x, tuple(dims)) if dims and len(x.shape) else x,
    "unsqueeze": lambda _, x, dim: ops.expand_dims(x, dim),
})  # fmt: skip


def _sizes(x: Any, shape: Any) -> tuple[int, ...]:
    """Return the sizes of a view, with the one that is -1."""
    if -1 not in shape:
        return tuple(shape)
    rest = int(np.prod([size for size in shape if size != -1], dtype=np.int64))
    return tuple(x.size // max(rest, 1) if size == -1 else size for size in shape)


@computes("expand")
def _(call: Call, x: Any, sizes: Any, *, implicit: bool = False) -> Any:
    before = len(sizes) - len(x.shape)
    return expanded(x, [x.shape[k - before] if size == -1 else size for k, size in enumerate(sizes)])


@computes("transpose.int")
def _(call: Call, x: Any, first: int, second: int) -> Any:
    axes = [*range(len(x.shape))]
    if axes:
        axes[first], axes[second] = axes[second], axes[first]
    return ops.permute(x, axes) if len(axes) > 1 else x


@computes("squeeze.default", "squeeze.dim", "squeeze.dims")
def _(call: Call, x: Any, dim: Any = None) -> Any:
    rank = len(x.shape)
    given = range(rank) if dim is None else [dim] if isinstance(dim, int) else dim
    gone = {axis % max(rank, 1) for axis in given}
    return x.reshape(tuple(size for k, size in enumerate(x.shape) if k not in gone or size != 1))


@computes("diagonal")
def _(call: Call, x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    rank, first, second = len(x.shape), dim1 % len(x.shape), dim2 % len(x.shape)
    rows, columns = x.shape[first], x.shape[second]
    x = ops.permute(x, [*(k for k in range(rank) if k not in (first, second)), first, second])
    begin, count = offset if offset > 0 else -offset * columns, min(rows + min(offset, 0), columns - max(offset, 0))
    part = slice(begin, begin + count * (columns + 1), columns + 1)
    return _cut(x.reshape((*x.shape[:-2], rows * columns)), -1, part)


@computes("unfold")
def _(call: Call, x: Any, dim: int, size: int, step: int) -> Any:
    if not x.shape:
        return ops.expand_dims(x, 0)
    axis = dim % len(x.shape)
    begins = np.arange(0, x.shape[axis] - size + 1, step)
    windows = ops.gather(x, call.constant(begins[:, None] + np.arange(size)), axis)
    return ops.moveaxis(windows, axis + 1, -1)


@computes("cat")
def _(call: Call, xs: Any, dim: int = 0) -> Any:
    parts = [call.cast(x) for x in xs if x.shape != (0,)] or [call.cast(xs[0])]
    return ops.concat(parts, dim % len(parts[0].shape)) if len(parts) > 1 else parts[0]


@computes("split_with_sizes")
def _(call: Call, x: Any, sizes: Any, dim: int = 0) -> Any:
    ends = np.cumsum([0, *sizes]).tolist()
    return [_cut(x, dim, slice(begin, end)) for begin, end in pairwise(ends)]


@computes("split.Tensor")
def _(call: Call, x: Any, size: int, dim: int = 0) -> Any:
    count = x.shape[dim]
    return [_cut(x, dim, slice(begin, begin + size)) for begin in range(0, max(count, 1), max(size, 1))]


@computes("slice_scatter")
def _(call: Call, x: Any, new: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return _replaced(call, x, call.cast(new), dim % len(x.shape), slice(start, end, step))


@computes("select_scatter")
def _(call: Call, x: Any, new: Any, dim: int, index: int) -> Any:
    axis = dim % len(x.shape)
    index %= x.shape[axis]
    return _replaced(call, x, ops.expand_dims(call.cast(new), axis), axis, slice(index, index + 1))


def _replaced(call: Call, x: Any, new: Any, axis: int, part: slice) -> Any:
    """Return an array with a part of an axis replaced."""
    size = x.shape[axis]
    begin, end, step = part.indices(size)
    if step == 1:
        parts = [(0, begin, x), (begin, end, new), (max(begin, end), size, x)]
        kept = [one if one is new else _cut(one, axis, slice(low, high)) for low, high, one in parts if low < high]
        return ops.concat(kept, axis) if len(kept) > 1 else kept[0] if kept else x
    places = np.arange(size)
    is_new = (places >= begin) & (places < end) & ((places - begin) % step == 0)
    if not is_new.any():
        return x
    source = np.where(is_new, (places - begin) // step, 0)
    column = [-1 if k == axis else 1 for k in range(len(x.shape))]
    return ops.where(call.constant(is_new.reshape(column)), ops.gather(new, call.constant(source), axis), x)


@computes("constant_pad_nd")
def _(call: Call, x: Any, pads: Any, value: Any = 0) -> Any:
    rank = len(x.shape)
    width = [(0, 0)] * (rank - len(pads) // 2) + [*zip(pads[::2], pads[1::2], strict=True)][::-1]
    inner = [slice(max(-low, 0), size - max(-high, 0)) for (low, high), size in zip(width, x.shape, strict=True)]
    x = ops.slice(x, *inner) if min(pads, default=0) < 0 else x
    return ops.pad(x, [(max(low, 0), max(high, 0)) for low, high in width], constant_values=value)
