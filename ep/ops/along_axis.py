"""take_along_axis and scatter: elements along one axis, read or written by indices of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims, broadcast_dims
from ep.include.arrays import Array, ArrayLike
from ep.ops.composition import composition
from ep.ops.declare.function import FUNCTIONS, Indices
from ep.ops.devices import arrays_of
from ep.ops.indices import IndexMode, check_mode
from ep.ops.scatter_rows import Reduction, as_scatter_op, expanded_updates
from ep.ops.shapes import axis_of
from ep.ops.terms import viewed


@composition()
def take_along_axis(x: ArrayLike, indices: Indices, axis: int = -1, mode: IndexMode = "raise") -> Array:
    """Return the elements of `x` that `indices` selects along an axis, as `numpy.take_along_axis`.

    x: array of any type, of at least one axis.
    indices: integers, with as many axes as x. Along the other axes, their sizes are those of x, or one of both is 1 and
        is repeated. PyTorch's `gather` and ONNX's GatherElements allow fewer indices than x has elements there: slice x
        to their number first.
    axis: negative ones are counted from the last.
    mode: how an index out of range is handled, as of `gather`; "wrap_negative" is NumPy's.

    Element `(i, j, k)` of the result is `x[i, indices[i, j, k], k]` if axis is 1. Raises the errors of `gather`.
    """
    check_mode(mode)
    axis, given = _axis_of(x, indices, axis), indices
    sizes = [_without(tuple(item.shape), axis) for item in (x, indices)]
    if sizes[0] != sizes[1]:
        whole = broadcast_dims(*sizes, names=("x", "indices"))
        x, indices = (_expanded(item, (*whole[:axis], item.shape[axis], *whole[axis:])) for item in (x, indices))
    return _along("gather", (x, indices), given, axis, mode)


@composition()
def scatter(
    x: ArrayLike,
    indices: Indices,
    updates: ArrayLike,
    axis: int = -1,
    reduction: Reduction = "none",
    mode: IndexMode = "raise",
) -> Array:
    """Return `x` with `updates` at the places along an axis that `indices` names, as ONNX's ScatterElements.

    x: array of at least one axis.
    indices: integers, with as many axes as x. Along the other axes it has at most as many elements as x; what x has
        beyond them stays.
    updates: a number, or an array of the dtype of x that broadcasts to the shape of indices.
    axis: negative ones are counted from the last.
    reduction: what becomes of an element and its updates, as of `scatter_rows`: of several updates of one place, the
        last one stays with "none", in the order of the elements of `indices`.
    mode: how an index out of range is handled, as of `gather`; with "zero", its update is left out.

    Element `x[i, indices[i, j, k], k]` becomes `updates[i, j, k]` if axis is 1. PyTorch has it as `scatter`,
    `scatter_add` and `scatter_reduce`. Raises the errors of `scatter_rows`.
    """
    check_mode(mode)
    as_scatter_op(reduction)
    axis = _axis_of(x, indices, axis)
    shape = tuple(indices.shape)
    for k, (size, most) in enumerate(zip(shape, x.shape, strict=True)):
        if k != axis and size > most:
            raise ValueError(
                f"indices has shape {shape}; along axis {k} it must have at most {most} elements, as x has"
            )
    updates = expanded_updates(updates, shape)
    return _scattered(x, indices, updates, axis, reduction, mode)


def _scattered(x: Array, indices: Array, updates: Array, axis: int, reduction: str, mode: IndexMode) -> Array:
    for k, size in enumerate(indices.shape):
        if k != axis and size < x.shape[k]:
            changing, rest = FUNCTIONS["split"](x, [size], k)
            return FUNCTIONS["concat"]([_scattered(changing, indices, updates, axis, reduction, mode), rest], k)
    return _along("scatter_rows", (x, indices, updates), indices, axis, reduction, mode)


def _along(name: str, arrays: Sequence[Array], indices: Array, axis: int, *given: Any) -> Array:
    """Return what an operator gives of rows along an axis, or of arrays with that as the last axis and others as batch
    axes. The second array has indices.

    indices: as they were given, for the position of a wrong one. given: the other arguments; the last one is the mode.
    """
    last = len(arrays[0].shape) - 1
    try:
        if (of_rows := _of_rows(arrays[1], axis)) is not None:
            (x, _, *updates), (rows, batch_dims) = arrays, of_rows
            shape = *x.shape[:axis], *rows.shape[batch_dims:], *x.shape[axis + 1 :]  # with axes of one index
            found = FUNCTIONS[name](x, rows, *(viewed(one, shape) for one in updates), axis, batch_dims, *given)
            return found if updates else viewed(found, arrays[1].shape)
        order = [*range(axis), *range(axis + 1, last + 1), axis]
        found = FUNCTIONS[name](*(_moved(item, order) for item in arrays), last, last, *given)
    except IndexError:
        on_device: Any = arrays_of((indices,), ("indices",))
        on_device.resolved(on_device.as_buffer(indices, "indices"), arrays[0].shape[axis], given[-1])
        raise
    return _moved(found, [*range(axis), last, *range(axis, last)])


def _of_rows(indices: Array, axis: int) -> tuple[Array, int] | None:
    """Return the indices of whole rows, and the number of their batch axes, if all elements of a row have the same
    index: that of the last axis, or one that is repeated along the others; else None."""
    rows, shape = arrays_of((indices,), ("indices",)).unrepeated(indices), indices.shape
    batch_dims = next((k for k in range(axis) if rows.shape[k] != shape[k]), axis)
    others = *rows.shape[batch_dims:axis], *rows.shape[axis + 1 :]
    return (rows, batch_dims) if rows.shape[axis] == shape[axis] and all(size == 1 for size in others) else None


def _axis_of(x: Array, indices: Array, axis: int) -> int:
    """Return the axis, counted from the front; ValueError if x and indices have not as many axes, or none."""
    place, num_dims = axis_of(x, "x", axis), len(x.shape)
    if len(indices.shape) != num_dims:
        raise ValueError(f"indices has shape {tuple(indices.shape)}; it must have {num_dims} axes, as x has")
    return place


def _without(shape: Dims, axis: int) -> Dims:
    return shape[:axis] + shape[axis + 1 :]


def _expanded(x: Array, shape: Dims) -> Array:
    return x if tuple(x.shape) == shape else FUNCTIONS["expand"](x, shape)


def _moved(x: Array, order: Sequence[int]) -> Array:
    """Return an array with its axes in another order; it is copied only if elements have to move."""
    moving = [k for k in order if x.shape[k] != 1]
    return viewed(x, [x.shape[k] for k in order]) if moving == sorted(moving) else FUNCTIONS["permute"](x, order)
