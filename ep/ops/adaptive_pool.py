"""Adaptive pools: means of as many windows as the result has elements, which other operators compute together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, ArrayLike
from ep.include.number_kind import FLOATS
from ep.ops.composition import composition
from ep.ops.declare.function import FUNCTIONS
from ep.ops.devices import arrays_of
from ep.ops.resize import Table, transposed
from ep.ops.shapes import as_sizes
from ep.ops.windows import for_each, num_spatial


@composition(FLOATS)
def adaptive_average_pool(x: ArrayLike, sizes: Any) -> Array:
    """Return the means of windows that divide `x` into `sizes`, as PyTorch's `adaptive_avg_pool1d` to `3d`.

    x: array of shape (N, C, sizes...), with one to three spatial axes, of a floating dtype.
    sizes: those of the spatial axes of the result; one integer for all of them.

    The result has shape (N, C, sizes...). Along an axis of a elements, window i of b has the elements from
    floor(i a / b) to ceil((i + 1) a / b), which is not included. Raises ValueError for a shape of x that does not fit,
    and for windows of an axis without elements.
    """
    of_x = tuple(x.shape)
    wanted = _wanted(of_x, sizes)
    kernel = _equal_windows(of_x, wanted)
    if kernel is not None:
        if {*wanted} == {1}:
            return FUNCTIONS["mean"](x, tuple(range(2, len(of_x))), keepdims=True)
        return FUNCTIONS["average_pool"](x, kernel, kernel)
    return _summed(x, {axis: _table(*sizes) for axis, sizes in enumerate(_each(of_x[2:], wanted), 2)})


@composition(FLOATS)
def adaptive_average_pool_grad(dy: ArrayLike, shape: Any) -> Array:
    """Return the gradient of `adaptive_average_pool`: each element of x has shares of the `dy` of its windows.

    dy: the gradient with respect to the result, of its shape and of a floating dtype. shape: that of x.

    Raises ValueError for shapes that do not fit.
    """
    of_dy, of_x = tuple(dy.shape), as_sizes((shape,), "shape")
    if len(of_dy) != len(of_x):
        raise ValueError(f"dy has shape {of_dy}; it must have {len(of_x)} axes, as shape {of_x} has")
    wanted = _wanted(of_x, of_dy[2:])
    if of_dy[:2] != of_x[:2]:
        raise ValueError(f"dy has shape {of_dy}; it must begin with {of_x[:2]}, as shape {of_x} does")
    kernel = _equal_windows(of_x, wanted)
    if kernel is not None:
        return FUNCTIONS["average_pool_grad"](dy, of_x, kernel, kernel)
    each = enumerate(_each(of_x[2:], wanted), 2)
    return _summed(dy, {axis: transposed(_table(size, count), size) for axis, (size, count) in each})


def _summed(x: ArrayLike, tables: Mapping[int, Table]) -> Array:
    """Return sums along axes, computed in float64 and rounded once."""
    arrays, result = arrays_of((x,), ("x",)), FUNCTIONS["cast"](x, "float64")
    for axis, table in tables.items():
        result = FUNCTIONS["resample"](result, *map(arrays.copy_from_host, table), axis)
    return result if x.dtype == np.float64 else FUNCTIONS["cast"](result, x.dtype)


def _wanted(of_x: Dims, sizes: Any) -> Dims:
    """Return the sizes of the result; ValueError if there is no such result."""
    wanted = for_each(sizes, "sizes", num_spatial(of_x), least=0)
    for axis, (size, count) in enumerate(_each(of_x[2:], wanted), 2):
        if size == 0 and count > 0:
            raise ValueError(f"sizes[{axis - 2}] is {count}; axis {axis} of x of shape {of_x} has no elements")
    return wanted


def _equal_windows(of_x: Dims, wanted: Dims) -> list[int] | None:
    """Return the sizes of windows that are equal and adjacent, None for others."""
    if 0 in wanted or any(size % count for size, count in _each(of_x[2:], wanted)):
        return None
    return [size // count for size, count in _each(of_x[2:], wanted)]


def _each(sizes: Sequence[int], counts: Sequence[int]) -> list[tuple[int, int]]:
    return [*zip(sizes, counts, strict=True)]


def _table(size: int, count: int) -> Table:
    """Return the places of the elements of each window, -1 for none, and their weights: a row of both for each."""
    begins = np.arange(count) * size // max(count, 1)
    lengths = -(-(np.arange(count) + 1) * size // max(count, 1)) - begins
    places = begins + np.arange(lengths.max(initial=1))[:, np.newaxis]
    return np.where(places < begins + lengths, places, -1), np.broadcast_to(1 / lengths, places.shape).copy()
