"""Operators that read and write elements at other places: views, joins, pads, indices; and those that make arrays."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ep import ops
from ep.torch.table import AtenCall, add, in_order, is_integer

_REDUCTIONS: Final[dict[Any, Any]] = {
    None: "none", "sum": "add", "add": "add", "mean": "add", "prod": "mul", "multiply": "mul", "amax": "max",
    "amin": "min",
}  # fmt: skip
"""The reductions of `ep.ops`, by ATen's names."""
_NEGATIVE: Any = "wrap_negative"


def _cut(x: Any, axis: int, part: Any) -> Any:
    """Return a part of an axis: a slice, or an element without the axis."""
    return x[(*[slice(None)] * (axis % len(x.shape)), part)]


def _axes(c: AtenCall) -> list[int]:
    """Return the axes of the operand, those of a diagonal last."""
    rank = len(c.self.shape)
    last = c.dim1 % rank, c.dim2 % rank
    return [*(k for k in range(rank) if k not in last), *last]


def _diagonal(c: AtenCall) -> tuple[Any, int, slice]:
    """Return the operand with the axes of a diagonal as one, this axis, and the part of it that is the diagonal."""
    x = ops.permute(c.self, _axes(c))
    *others, rows, columns = x.shape
    begin, count = c.offset if c.offset > 0 else -c.offset * columns, c.shape[-1] if c.src is None else c.src.shape[-1]
    return x.reshape((*others, rows * columns)), -1, slice(begin, begin + count * (columns + 1), columns + 1)


def _diagonal_scatter(c: AtenCall) -> Any:
    found, axes = _replaced(c, *_diagonal(c)), _axes(c)
    return ops.permute(found.reshape([c.self.shape[k] for k in axes]), np.argsort(axes).tolist())


def _unfold(c: AtenCall) -> Any:
    axis = c.dimension % len(c.self.shape)
    places = np.arange(c.shape[axis])[:, None] * c.step + np.arange(c.size)
    return ops.moveaxis(ops.gather(c.self, c.constant(places), axis), axis + 1, -1)


def _replaced(c: AtenCall, x: Any, axis: int, part: slice) -> Any:
    """Return x with the operand `src` in the place of a part of an axis."""
    axis %= len(x.shape)
    (*before, size), after = x.shape[: axis + 1], x.shape[axis + 1 :]
    order = np.arange(size)
    places = order[part]
    new = c.cast(c.src).reshape((*before, places.size, *after))
    if places.size and places[-1] - places[0] < places.size:  # they follow one another
        kept = [_cut(x, axis, slice(places[0])), new, _cut(x, axis, slice(places[-1] + 1, None))]
        return ops.concat([one for one in kept if one.shape[axis]], axis)
    order[part] = size + np.arange(places.size)
    return ops.gather(ops.concat([x, new], axis), c.constant(order), axis)


def _arange(c: AtenCall) -> Any:
    start, step = c.start or 0, 1 if c.step is None else c.step
    if c.dtype.kind in "iu":
        start, step = int(start), int(step)
    return c.constant((np.arange(math.prod(c.shape)) * step + start).astype(c.dtype))


def _linspace(c: AtenCall) -> Any:
    """As in eager mode, the ends first have the type of the result, and each half is counted from its end."""
    start, end = (c.cast(c.cast(x), np.float64) for x in (c.start, c.end))
    place, last = np.arange(c.steps, dtype=np.float64), c.steps - 1
    step = ops.div(ops.sub(end, start), max(last, 1))
    parts = [ops.add(start, ops.mul(step, c.constant(place))), ops.sub(end, ops.mul(step, c.constant(last - place)))]
    return c.cast(ops.where(c.constant(place < max(c.steps // 2, 1)), *parts))


def _embedding_backward(c: AtenCall) -> Any:
    if c.scale_grad_by_freq:
        raise NotImplementedError("scale_grad_by_freq")
    dy, indices = c.grad_output, c.indices
    if c.padding_idx >= 0:
        dy = ops.where(ops.equal(indices, c.padding_idx).reshape((*indices.shape, 1)), 0, dy)
    return ops.gather_grad(dy, indices, (c.num_weights, dy.shape[-1]), axis=0)


def _gathered(c: AtenCall) -> Any:
    x, axis = c.self, c.dim % len(c.self.shape)
    parts = [slice(None) if k == axis else slice(size) for k, size in enumerate(c.index.shape)]
    return ops.take_along_axis(ops.slice(x, *parts), c.index, axis)


def _scattered(c: AtenCall, x: Any, new: Any, reduction: Any) -> Any:
    new = c.cast(new)
    if len(new.shape) == len(c.index.shape) and new.size > 1:
        new = ops.slice(new, *map(slice, c.index.shape))
    return ops.scatter(x, c.index, new, c.dim, reduction)


def _scatter(c: AtenCall) -> Any:
    reduce = "sum" if c.name == "scatter_add" else c.reduce
    return _scattered(c, c.self, c.value if c.src is None else c.src, _REDUCTIONS[reduce])


def _scatter_reduce(c: AtenCall) -> Any:
    x = c.self
    if not c.include_self:  # a number that changes no sum or product, or one of those of which the extreme is wanted
        x = _scattered(c, x, c.src if c.reduce in ("amax", "amin") else int(c.reduce == "prod"), "none")
    found = _scattered(c, x, c.src, _REDUCTIONS[c.reduce])
    if c.reduce != "mean":
        return found
    counts = _scattered(c, ops.expand(c.cast(int(c.include_self)), x.shape), 1, "add")
    return (ops.floor_div if is_integer(x) else ops.div)(found, ops.maximum(counts, c.cast(1)))


def _index_put(c: AtenCall) -> Any:
    new = c.cast(c.values)
    (first, mask), *others = [(k, one) for k, one in enumerate(c.indices) if one is not None]
    if mask.dtype.kind == "b" and new.size == 1 and not others and not c.accumulate:
        after = len(c.self.shape) - first - len(mask.shape)
        return ops.where(mask.reshape((*mask.shape, *[1] * after)), new.reshape(()), c.self)
    return ops.index_put(c.self, c.indices, new, 0, "add" if c.accumulate else "none", _NEGATIVE)


add({
    "view.default _unsafe_view reshape squeeze unsqueeze": lambda c: c.self.reshape(c.shape),
    "expand": lambda c: ops.expand(c.self, c.shape),
    "permute": in_order(ops.permute),
    "slice.Tensor": lambda c: _cut(c.self, c.dim, slice(c.start, c.end, c.step)),
    "select.int": lambda c: _cut(c.self, c.dim, c.index),
    "split_with_sizes": lambda c: ops.split(c.self, np.cumsum(c.split_sizes)[:-1].tolist(), c.dim),
    "diagonal": lambda c: _cut(*_diagonal(c)),
    "unfold": _unfold,
    "cat": lambda c: ops.concat([c.cast(x) for x in c.tensors if x.shape != (0,)] or [c.cast(c.tensors[0])], c.dim),
    "repeat": in_order(ops.repeat),
    "flip": in_order(ops.flip),
    # the strides of these three are not those of their decompositions
    "slice_scatter": lambda c: _replaced(c, c.self, c.dim, slice(c.start, c.end, c.step)),
    "select_scatter": lambda c: _replaced(c, c.self, c.dim, slice(c.index, c.index + 1 or None)),
    "diagonal_scatter": _diagonal_scatter,
    "constant_pad_nd": lambda c: ops.pad(
        c.self,
        [*[(0, 0)] * (len(c.self.shape) - len(c.pad) // 2), *zip(c.pad[-2::-2], c.pad[::-2], strict=True)],
        constant_values=c.value,
    ),
    "full full_like": lambda c: c.filled(c.fill_value),
    "scalar_tensor": lambda c: c.cast(c.s),
    "empty.memory_format empty_permuted empty_strided new_empty_strided": lambda c: c.filled(0),
    "arange": _arange,
    "linspace": _linspace,
    "embedding": lambda c: ops.gather(c.weight, c.indices, 0),
    "embedding_dense_backward": _embedding_backward,
    "index_select": lambda c: ops.gather(c.self, c.index, c.dim),
    "gather": _gathered,
    "scatter scatter_add": _scatter,
    "scatter_reduce.two": _scatter_reduce,
    "index.Tensor": lambda c: ops.index(c.self, c.indices, mode=_NEGATIVE),  # without masks: sizes depend on data
    "index_put.default _unsafe_index_put.default": _index_put,
    "put.default": lambda c: ops.index_put(
        *(c.self.reshape((-1,)), [c.index.reshape((-1,))], c.source.reshape((-1,))),
        *(0, "add" if c.accumulate else "none", _NEGATIVE),
    ).reshape(c.shape),
})  # fmt: skip
