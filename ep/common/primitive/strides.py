"""Sizes and strides of row-major arrays. Strides are in elements."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul


def contiguous_strides(dims: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a contiguous array: `[6, 3, 4, 5]` has `[60, 20, 5, 1]`."""
    strides = [1] * len(dims)
    for axis in range(len(dims) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * dims[axis + 1]
    return tuple(strides)


def expanded_strides(src_dims: Sequence[int], src_strides: Sequence[int], num_dims: int) -> tuple[int, ...]:
    """Return the source's strides in a walk over `num_dims` broadcast dims: 0 along an axis that is new or was 1."""
    if 1 not in src_dims:
        return (0,) * (num_dims - len(src_dims)) + tuple(src_strides)
    kept = [0 if size == 1 else stride for size, stride in zip(src_dims, src_strides, strict=True)]
    return (0,) * (num_dims - len(src_dims)) + tuple(kept)


def broadcast_strides(dims: Sequence[int], num_dims: int, step: int = 1) -> tuple[int, ...]:
    """Return the strides of a contiguous array in a walk over `num_dims` broadcast dims: see `expanded_strides`.

    step: the distance of the elements of the array, which may be matrices.
    """
    strides = []
    for size in reversed(dims):
        strides.append(step if size != 1 else 0)
        step *= size
    return (0,) * (num_dims - len(dims)) + tuple(strides[::-1])


def extent(dims: Sequence[int], strides: Sequence[int]) -> int:
    """Return the number of elements from the first to the last that the strides reach; 0 for an empty array."""
    if 0 in dims:
        return 0
    reached: int = 1 + sum(map(mul, dims, strides)) - sum(strides)
    return reached


def span(dims: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """Return the offsets of the first and last element in memory. Strides may be negative, no size is 0."""
    reached = [(size - 1) * stride for size, stride in zip(dims, strides, strict=True)]
    return sum(min(one, 0) for one in reached), sum(max(one, 0) for one in reached)


def writes_once(dims: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether no two elements overlap, by this rule: each stride is longer than the reach of the smaller ones.

    Strides that keep elements apart in another way, as dims (3, 2) with strides (2, 3) do, are refused.
    """
    if 0 in dims:
        return True
    reached = 0
    for stride, size in sorted(zip(strides, dims, strict=True)):
        if size > 1:
            if stride <= reached:
                return False
            reached += stride * (size - 1)
    return True
