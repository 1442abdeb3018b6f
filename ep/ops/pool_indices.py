"""Functions of pools that other operators compute together: max_pool_with_indices and its gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ep.include.arrays import Array, ArrayLike
from ep.include.number_kind import REAL
from ep.ops.composition import composition
from ep.ops.declare.function import FUNCTIONS
from ep.ops.devices import arrays_of
from ep.ops.indices import as_indices
from ep.ops.shapes import as_sizes
from ep.ops.terms import viewed


@composition(REAL)
def max_pool_with_indices(
    x: ArrayLike, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False
) -> list[Array]:
    """Return the largest element of each window of `x`, and its index, as PyTorch's `max_pool2d` with `return_indices`.

    x, kernel, strides, pads, dilations, ceil_mode: as of `max_pool`, which gives the first result.

    The second result has the same shape and dtype int64. An index counts the elements of a plane of x in row-major
    order; `max_pool_labels` says which one of equal elements has it. A window without elements has -1.
    """
    given = kernel, strides, pads, dilations, ceil_mode
    largest = FUNCTIONS["max_pool"](x, *given)
    return [largest, FUNCTIONS["max_pool_labels"](x, plane_indices(x), *given)]


def plane_indices(x: ArrayLike) -> Array:
    """Return the index of each element in a plane of x, in row-major order, where x is."""
    sizes = tuple(x.shape[2:])
    return arrays_of((x,), ("x",)).copy_from_host(np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes))


@composition()
def max_unpool(x: ArrayLike, indices: Any, sizes: Any) -> Array:
    """Return zeros with the elements of `x` at indices, as PyTorch's `max_unpool2d`: the gradient of `max_pool`.

    x: array of shape (N, C, counts...), of any type but bool. indices: integers of that shape, as of
        `max_pool_with_indices`.
    sizes: those of the spatial axes of the result.

    The result has shape (N, C, sizes...). Elements with one index are added up, in their order; one with an index
    outside of the plane is left out. Raises ValueError for shapes that do not fit.
    """
    indices = as_indices(arrays_of((x, indices), ("x", "indices")), indices, "indices")
    of_x, places = tuple(x.shape), as_sizes((sizes,), "sizes")
    if len(of_x) != len(places) + 2:
        raise ValueError(f"x has shape {of_x}; it must have {len(places) + 2} axes, as sizes are {places}")
    if tuple(indices.shape) != of_x:
        raise ValueError(f"indices has shape {tuple(indices.shape)}; it must have that of x, {of_x}")
    flat = (*of_x[:2], math.prod(of_x[2:]))
    planes = (*of_x[:2], math.prod(places))
    spread = FUNCTIONS["gather_grad"](viewed(x, flat), viewed(indices, flat), planes, 2, 2, "zero")
    return viewed(spread, (*of_x[:2], *places))
