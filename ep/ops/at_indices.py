"""index, index_put, gather_nd and scatter_nd: parts of an array, read or written by indices along several axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ep.common.primitive.broadcast import Dims, broadcast_dims
from ep.include.arrays import Array, ArrayLike
from ep.include.data_type import DataType
from ep.include.errors import ArgumentIndexError
from ep.include.shown import shown
from ep.ops.composition import composition
from ep.ops.declare.function import FUNCTIONS, Indices
from ep.ops.devices import arrays_of, as_array
from ep.ops.full import filled
from ep.ops.indices import IndexMode, as_indices, check_mode
from ep.ops.scatter_rows import Reduction, as_scatter_op, expanded_updates
from ep.ops.shapes import from_front
from ep.ops.terms import viewed


@composition()
def index(x: ArrayLike, indices: Sequence[ArrayLike | None], axis: int = 0, mode: IndexMode = "raise") -> Array:
    """Return the parts of `x` at indices along axes, as `x[:, i, j]` of NumPy and PyTorch.

    x: array of any type.
    indices: for each axis from `axis` on an array of integers, or None for an axis that is whole; their shapes
        broadcast.
    axis: the first of these axes; negative: counted from the last axis of x.
    mode: how an index out of range is handled, "raise", "wrap_negative" or "clip" of `gather`.

    The axes with indices are replaced by those to which the indices broadcast. If a whole axis is between them, the
    result begins with these, as that of `x[i, :, j]`. Raises TypeError for indices that are not integers, ValueError
    for shapes that do not fit, and IndexError as `gather`.
    """
    with _named(is_last=False):
        x, places, along, merged, checks, _ = _merged(x, indices, axis, mode)
        return FUNCTIONS["gather"](viewed(x, merged), places, along, mode=checks)


@composition()
def index_put(
    x: ArrayLike,
    indices: Sequence[ArrayLike | None],
    updates: ArrayLike,
    axis: int = 0,
    reduction: Reduction = "none",
    mode: IndexMode = "raise",
) -> Array:
    """Return `x` with `updates` in the parts that `index` would read: `x[:, i, j] = updates` in a new array.

    x, indices, axis, mode: the arguments of `index`.
    updates: a number, or an array of the dtype of x that broadcasts to the shape of these parts.
    reduction: what becomes of a part and its updates, as of `scatter_rows`: "none", "add", "mul", "max", "min".
        PyTorch's `index_put` with `accumulate` adds.
    """
    as_scatter_op(reduction)
    with _named(is_last=False):
        x, places, along, merged, checks, order = _merged(x, indices, axis, mode)
        updates = expanded_updates(updates, (*merged[:along], *places.shape, *merged[along + 1 :]))
        found = FUNCTIONS["scatter_rows"](viewed(x, merged), places, updates, along, 0, reduction, checks)
    found = viewed(found, tuple(x.shape))
    return found if order == sorted(order) else FUNCTIONS["permute"](found, np.argsort(order).tolist())


@composition()
def gather_nd(x: ArrayLike, indices: Indices, batch_dims: int = 0, mode: IndexMode = "raise") -> Array:
    """Return the parts of `x` whose indices along its first axes are the last axis of `indices`, as ONNX's GatherND.

    x: array of any type.
    indices: integers of at least one axis; along the last one are the indices of one part, at most one for each axis of
        x after the batch axes.
    batch_dims: the number of leading axes that x and indices share; a part is of the batch with the same position.
    mode: as of `index`.

    The result has the shape `indices.shape[:-1] + x.shape[batch_dims + indices.shape[-1]:]`. Raises ValueError for
    shapes that do not fit, and IndexError as `gather`.
    """
    num_dims = len(x.shape)
    batch = from_front(batch_dims, "batch_dims", 0, min(num_dims, max(len(indices.shape) - 1, 0)) + 1)
    if tuple(x.shape[:batch]) != tuple(indices.shape[:batch]):
        raise ValueError(
            f"x has shape {tuple(x.shape)}, indices {tuple(indices.shape)}; the first {batch} sizes must be equal"
        )
    places, merged = _merged_nd(x, indices, batch, mode)
    return FUNCTIONS["gather"](viewed(x, merged), places, batch, batch, "zero")


@composition()
def scatter_nd(
    x: ArrayLike, indices: Indices, updates: ArrayLike, reduction: Reduction = "none", mode: IndexMode = "raise"
) -> Array:
    """Return `x` with `updates` in the parts that `gather_nd` would read: ONNX's ScatterND, TensorFlow's
    `tensor_scatter_nd_update`.

    x, indices, mode: the arguments of `gather_nd`, without batch axes.
    updates: a number, or an array of the dtype of x that broadcasts to the shape of these parts.
    reduction: what becomes of a part and its updates, as of `scatter_rows`.
    """
    as_scatter_op(reduction)
    places, merged = _merged_nd(x, indices, 0, mode)
    updates = expanded_updates(updates, (*places.shape, *merged[1:]))
    return viewed(FUNCTIONS["scatter_rows"](viewed(x, merged), places, updates, 0, 0, reduction, "zero"), x.shape)


def _merged(x: Array, indices: Any, axis: int, mode: IndexMode) -> tuple[Array, Array, int, Dims, IndexMode, list[int]]:
    """Return x with the axes that have indices side by side, indices along one axis instead, this axis, the shape of x
    in which it is all these axes, the mode, and the order that the axes of x now have.

    Those of several arrays have been checked.
    """
    if not isinstance(indices, list | tuple):
        raise TypeError(f"indices must be a sequence of arrays, not {shown(indices)}")
    numbers = [k for k, item in enumerate(indices) if item is not None]
    if not numbers:
        raise ValueError(f"indices is {'empty' if not indices else 'None for each axis'}; there must be one at least")
    num_axes, count = len(x.shape), len(indices)
    along = from_front(axis, "axis", num_axes, num_axes)
    if along + count > num_axes:
        raise ValueError(
            f"axis is {along} and indices has {count} arrays; x has shape {tuple(x.shape)}, {num_axes} axes"
        )
    given, names = [indices[k] for k in numbers], [f"indices[{k}]" for k in numbers]
    axes, order, count = [along + k for k in numbers], [*range(num_axes)], len(numbers)
    along = axes[0]
    if axes != order[along : along + count]:
        order, along = [*axes, *(k for k in order if k not in axes)], 0
        x = FUNCTIONS["permute"](x, order)
    shape = tuple(x.shape)
    arrays = arrays_of([x, *given], ["x", *names])
    read = [as_array(arrays, as_indices(arrays, item, name), name) for item, name in zip(given, names, strict=True)]
    if len({item.dtype for item in read}) > 1:
        read = [_as_int64(item) for item in read]
    check_mode(mode)
    if mode == "zero":
        raise ValueError("mode is 'zero'; it must be raise, wrap_negative or clip")
    if count == 1:
        return x, read[0], along, shape, mode, order
    broadcast_dims(*(tuple(item.shape) for item in read), names=names)
    places = FUNCTIONS["ravel_multi_index"](read, shape[along : along + count], mode)
    merged = (*shape[:along], math.prod(shape[along : along + count]), *shape[along + count :])
    return x, places, along, merged, "zero", order


def _merged_nd(x: Array, indices: Array, batch: int, mode: IndexMode) -> tuple[Array, Dims]:
    """Return indices along the axis after the batch axes, and the shape of x in which it is all that are indexed."""
    if not indices.shape:
        raise ValueError("indices has no axes; one is needed")
    shape, (*lead, count) = tuple(x.shape), tuple(indices.shape)
    if batch + count > len(shape):
        raise ValueError(
            f"indices has shape {tuple(indices.shape)}; along the last axis it must have at most "
            f"{len(shape) - batch} elements, as x has shape {shape}"
        )
    merged = (*shape[:batch], math.prod(shape[batch : batch + count]), *shape[batch + count :])
    if not count:
        arrays = arrays_of((x, indices), ("x", "indices"))
        return filled(arrays, tuple(lead), 0, DataType.kInt64), merged
    columns = (
        [FUNCTIONS["slice"](indices, *[None] * len(lead), (k, k + 1)) for k in range(count)] if count > 1 else [indices]
    )
    with _named(is_last=True):
        places = FUNCTIONS["ravel_multi_index"](
            [viewed(item, lead) for item in columns], shape[batch : batch + count], mode
        )
    return places, merged


@contextmanager
def _named(is_last: bool) -> Iterator[None]:
    """Name the position of a wrong index in `indices`: in one of several arrays, or in one whose last axis has all."""
    try:
        yield
    except ArgumentIndexError as error:
        name, *words = error.args
        if not name.startswith("multi_index["):  # of a single array, by which gather reads or scatter_rows writes
            raise ArgumentIndexError(name.replace("indices", "indices[0]"), *words) from None
        number, _, position = name.removeprefix("multi_index[").partition("]")
        last = f"{position[:-1]}, {number}]" if position else f"[{number}]"
        raise ArgumentIndexError(f"indices{last if is_last else f'[{number}]{position}'}", *words) from None


def _as_int64(indices: Array) -> Array:
    """Return indices in int64; those of uint64 that it does not hold stay larger than any size."""
    if indices.dtype == np.uint64:
        indices = FUNCTIONS["minimum"](indices, np.iinfo(np.int64).max)
    return FUNCTIONS["cast"](indices, np.int64)
