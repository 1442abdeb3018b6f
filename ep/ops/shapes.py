"""Functions on shapes that several operators share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ep.common.checks import are_several, as_count, as_integer, integers_in
from ep.common.primitive.broadcast import Dims, simplify_broadcast_dims
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.shown import shown


def as_sizes(sizes: tuple[Any, ...], argument: str = "sizes", check: Callable[[Any, str], int] = as_count) -> Dims:
    """Return sizes that were given one by one or as one sequence; `check` is done with each, and names it."""
    return integers_in(sizes[0] if len(sizes) == 1 and are_several(sizes[0]) else sizes, argument, check)


def as_axes(given: Any, argument: str, num_dims: int) -> Dims:
    """Return one or several axes, counted from the front, as `from_front`; ValueError if one is there twice."""
    axes = integers_in(given, argument, lambda one, name: from_front(one, name, num_dims, num_dims))
    if len(set(axes)) < len(axes):
        raise ValueError(f"{argument} is {shown(given)}; each axis must be there once")
    return axes


def check_shape(argument: str, array: Any, shape: Sequence[int]) -> None:
    """Raise ValueError unless an array has a shape. Arrays that are omitted have each."""
    if array is not None and tuple(array.shape) != tuple(shape):
        raise ValueError(f"{argument} has shape {tuple(array.shape)}; it must have {tuple(shape)}")


def check_broadcasts(argument: str, array: Any, shape: Sequence[int]) -> None:
    """Raise ValueError unless an array, which may be omitted, broadcasts to a shape."""
    if array is None:
        return
    pairs = zip(array.shape[::-1], shape[::-1], strict=False)
    if len(array.shape) > len(shape) or any(size not in (1, whole) for size, whole in pairs):
        raise ValueError(f"{argument} has shape {tuple(array.shape)}; it must broadcast to {tuple(shape)}")


def from_front(value: Any, argument: str, num_dims: int, end: int) -> int:
    """Return an axis counted from the front: negative ones count from `num_dims`, others must be below `end`.

    Raises TypeError for other types than integers, NumPy's AxisError (a ValueError) for other numbers.
    """
    position = as_integer(value, argument)
    if not -num_dims <= position < end:
        wanted = f"it must be {-num_dims} ... {end - 1}" if num_dims + end else "there are no axes"
        raise np.exceptions.AxisError(f"{argument} is {position}; {wanted}")
    return position % num_dims if position < 0 else position


def axis_of(array: Any, argument: str, axis: Any) -> int:
    """Return an axis of an array, counted from the front, as `from_front`; ValueError if the array has no axes."""
    if not array.shape:
        raise ValueError(f"{argument} has no axes; one is needed")
    return from_front(axis, "axis", len(array.shape), len(array.shape))


def around(shape: Dims, axis: int) -> tuple[int, int, int]:
    """Return how many elements there are before an axis, along it and behind it."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def launch_dims(operator: str, *operands: Dims) -> Sequence[Dims]:
    """Return `operands` as dims that a primitive supports: simplified, if too many, to dims with the same broadcasting.

    An operand without axes keeps none. Raises ValueError if more than 8 axes are left.
    """
    if max(map(len, operands)) <= kMaxNumDims:
        return operands
    if any(0 in dims for dims in operands):
        return [dims and (0,) for dims in operands]
    simplified, _ = simplify_broadcast_dims(*operands)
    if len(simplified[0]) > kMaxNumDims:
        raise ValueError(
            f"{operator} of shapes {' and '.join(map(str, operands))} needs {len(simplified[0])} axes "
            f"where neighbours that broadcast alike are one; at most {kMaxNumDims} are possible"
        )
    return [dims and simple for dims, simple in zip(operands, simplified, strict=True)]
