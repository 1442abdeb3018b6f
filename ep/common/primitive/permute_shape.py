"""The dims and the permutation of a Permute, checked: the same on every device."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ep.common.checks import as_dims, as_sizes
from ep.common.primitive.broadcast import Dims, StridedWalk, simplify_walk
from ep.common.primitive.strides import contiguous_strides
from ep.include.errors import Argument, ArgumentValueError


class PermuteShape(NamedTuple):
    """The dims of src, and which of its axes is axis i of dst, as `Launch` takes them, in tuples."""

    src_dims: Dims
    permutation: tuple[int, ...]

    def num_elements(self) -> int:
        """Return how many elements src and dst have."""
        return math.prod(self.src_dims)

    def walk(self) -> StridedWalk:
        """Return the simplified walk over dst, in the order of its memory; src has elements.

        Axes of size 1 go, and axes that follow one another in src and in dst merge: `(5, 6, 7, 8)` by `(2, 3, 0, 1)`
        is a walk over `(56, 30)`, with src strides `(1, 56)`. In contiguous arrays nothing else can be left out.
        """
        dims = tuple([self.src_dims[axis] for axis in self.permutation])
        src_strides = contiguous_strides(self.src_dims)
        steps = tuple([src_strides[axis] for axis in self.permutation])
        return StridedWalk(*simplify_walk(dims, steps, contiguous_strides(dims)))


def as_permute_shape(src_dims: Any, permutation: Any, max_num_dims: int | None) -> PermuteShape:
    """Check what `Launch` was given; raises what the contract says, naming the argument."""
    dims = as_dims(src_dims, "src_dims", max_num_dims or 0)
    axes = as_sizes(permutation, "permutation", dims)
    if sorted(axes) != list(range(len(dims))):
        raise ArgumentValueError(
            "permutation", axes, f"must have each of 0 to {len(dims) - 1} once, the axes of", Argument("src_dims"), dims
        )
    return PermuteShape(dims, axes)
