"""The checked dims and permutation of a Permute, the same on every device."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ep.common.checks import as_dims, as_sizes
from ep.common.primitive.broadcast import Dims, StridedWalk, simplify_walk
from ep.common.primitive.strides import contiguous_strides
from ep.include.errors import Argument, ArgumentValueError


class PermuteShape(NamedTuple):
    """The dims of src, and the axis of src that is axis i of dst: the arguments of `Launch`, as tuples."""

    src_dims: Dims
    permutation: tuple[int, ...]

    def num_elements(self) -> int:
        """Return the number of elements of src and of dst."""
        return math.prod(self.src_dims)

    def walk(self) -> StridedWalk:
        """Return the simplified walk over dst, in the order of its memory; src is not empty.

        Axes of size 1 are removed, and axes that follow one another in src and in dst are merged: `(5, 6, 7, 8)` by
        `(2, 3, 0, 1)` is a walk over `(56, 30)`, with src strides `(1, 56)`. Contiguous arrays allow no other
        simplification.
        """
        dims = tuple([self.src_dims[axis] for axis in self.permutation])
        src_strides = contiguous_strides(self.src_dims)
        steps = tuple([src_strides[axis] for axis in self.permutation])
        return StridedWalk(*simplify_walk(dims, steps, contiguous_strides(dims)))


def as_permute_shape(src_dims: Any, permutation: Any, max_num_dims: int | None) -> PermuteShape:
    """Return the checked arguments of `Launch`. Raises the errors of the contract, which name the argument."""
    dims = as_dims(src_dims, "src_dims", max_num_dims or 0)
    axes = as_sizes(permutation, "permutation", dims)
    if sorted(axes) != list(range(len(dims))):
        raise ArgumentValueError(
            "permutation", axes, f"must have each of 0 to {len(dims) - 1} once, the axes of", Argument("src_dims"), dims
        )
    return PermuteShape(dims, axes)
