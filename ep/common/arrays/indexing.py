"""Indices of arrays that are not NumPy's: integers, slices, None and ..., as the functions `slice` and `reshape`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.common.arrays.checks import as_scalar
from ep.common.arrays.numpy_functions import FUNCTIONS
from ep.common.checks import are_several, integers_in, present


def selected(array: Any, index: Any) -> Any:
    """Return a new array of the elements that an index selects.

    array: one of `Operators`. Raises IndexError for an integer out of range and for too many indices, TypeError for an
    array, a bool and anything else that is no index.
    """
    given = tuple(map(as_scalar, index if isinstance(index, tuple) else (index,)))
    num_dims, num_axes, dots = len(array.shape), 0, len(given)
    for place, one in enumerate(given):
        if has_elements(one):
            raise TypeError("an array is an index: use ep.ops.gather, or ep.ops.where")
        if one is Ellipsis:
            if dots < place:
                raise IndexError("an index has ... twice")
            dots = place
        elif one is not None:
            num_axes += 1
    if num_axes > num_dims:
        raise IndexError(f"there are indices of {num_axes} axes; the array has shape {tuple(array.shape)}")
    given = (*given[:dots], *(slice(None),) * (num_dims - num_axes), *given[dots + 1 :])
    slices: list[slice] = []
    reversed_axes: list[int] = []
    shape: list[Any] = []  # sizes of the array to be sliced, by axis; 1 for new axes
    for one in given:
        if one is None:
            shape.append(1)
        elif isinstance(one, slice):
            shape.append(slice(len(slices), None))
            slices.append(_forward(one, array.shape[len(slices)], len(slices), reversed_axes))
        else:
            at = _index(one, array.shape[len(slices)], len(slices))
            slices.append(slice(at, at + 1))
    taken = array._whole() if all(one == slice(None) for one in slices) else FUNCTIONS["slice"](array, *slices)
    if reversed_axes:
        taken = FUNCTIONS["flip"](taken, tuple(reversed_axes))
    sizes = tuple(one if isinstance(one, int) else taken.shape[one.start] for one in shape)
    return taken if sizes == tuple(taken.shape) else taken.reshape(sizes)


def reshaped(array: Any, shape: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape that a method `reshape` is given, as integers or as one sequence, without -1.

    Raises TypeError for sizes that are no integers, ValueError if the array has another number of elements.
    """
    sizes = [*integers_in(shape[0] if len(shape) == 1 and are_several(shape[0]) else shape, "shape")]
    if -1 in sizes:
        rest = -math.prod(sizes)
        if sizes.count(-1) == 1 and rest > 0 and array.size % rest == 0:
            sizes[sizes.index(-1)] = array.size // rest
    if min(sizes, default=0) < 0 or math.prod(sizes) != array.size:
        raise ValueError(f"shape is {tuple(sizes)}; an array of shape {tuple(array.shape)} cannot be reshaped to it")
    return tuple(sizes)


def has_elements(index: Any) -> bool:
    """Return whether an index is an array, or a list, which selects elements one by one."""
    return isinstance(index, list) or (isinstance(index, np.ndarray) and index.ndim > 0) or hasattr(index, "_whole")


def _forward(given: slice, size: int, axis: int, reversed_axes: list[int]) -> slice:
    """Return a slice with a positive step of the same elements; note its axis if they are in the reverse order."""
    if given.step is None:
        return given
    begin, end, step = given.indices(size)
    if step > 0:
        return given
    count = len(range(begin, end, step))
    reversed_axes.append(axis)
    return slice(begin + (count - 1) * step, begin + 1, -step) if count else slice(0, 0)


def _index(index: Any, size: int, axis: int) -> int:
    """Return an integer index, counted from the front."""
    index = present(index)
    if isinstance(index, bool | np.bool_) or not hasattr(index, "__index__"):
        raise TypeError(f"the index of axis {axis} must be an integer, a slice, None or ..., not {index!r}")
    at = int(index)
    if not -size <= at < size:
        raise IndexError(f"the index of axis {axis} is {at}; it must be {-size} ... {size - 1}")
    return at % size
