"""Sizes and strides of row-major arrays. Strides are in elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import mul
from typing import Final

import numpy as np

SHARED: Final = "has elements that share memory; each element that is written needs memory for itself"
"""What errors say about an array for which `writes_once` is false."""


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
    first = last = 0
    for size, stride in zip(dims, strides, strict=True):
        if stride < 0:
            first += (size - 1) * stride
        else:
            last += (size - 1) * stride
    return first, last


def writes_once(dims: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether no two elements of an array share a place. Strides may be negative."""
    if 0 in dims:
        return True
    reached, axes = 0, sorted(zip(map(abs, strides), dims, strict=True))
    for stride, size in axes:
        if size > 1:
            if stride <= reached:
                return _are_distinct(tuple([axis for axis in axes if axis[1] > 1]))
            reached += stride * (size - 1)
    return True


@lru_cache
def _are_distinct(axes: tuple[tuple[int, int], ...]) -> bool:
    """Return whether all sums of steps along axes differ. axes: their strides, none negative, and sizes, at least 2."""
    reach = sum(stride * (size - 1) for stride, size in axes)
    if axes[0][0] == 0 or math.prod(size for _, size in axes) > reach + 1:
        return False
    for k, (stride, size) in enumerate(axes):
        others = (*axes[:k], *axes[k + 1 :])
        divisor = math.gcd(*(other for other, _ in others))
        if others and size <= divisor // math.gcd(stride, divisor):
            return _are_distinct(others)  # no steps along this axis lead as far as steps along the others
    # two sums are equal if steps along some axes lead as far as steps along the others
    number = np.dtype(np.int64 if reach < 2**63 else object)
    halves = [np.zeros(1, number), np.zeros(1, number)]
    for stride, size in sorted(axes, key=lambda axis: axis[1]):
        most = min(size - 1, reach // stride - (size - 1))
        steps = stride * np.arange(-most, most + 1, dtype=number)
        halves.sort(key=len)
        halves[0] = np.add.outer(halves[0], steps).ravel()
    one, other = halves
    shared = np.intersect1d(one, other).size
    return bool(np.count_nonzero(one == 0) == np.count_nonzero(other == 0) == shared == 1)
