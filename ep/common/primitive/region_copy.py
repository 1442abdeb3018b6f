"""The boxes of a CopyNd, checked: the same on every device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ep.common.checks import as_dims, as_sizes
from ep.common.primitive.broadcast import Dims, StridedWalk, simplify_walk
from ep.common.primitive.strides import contiguous_strides, extent
from ep.include.errors import Argument, ArgumentValueError


class RegionCopy(NamedTuple):
    """The dims of two arrays, where a box begins in each, and its sizes: as `Launch` takes them, in tuples."""

    dst_dims: Dims
    dst_pos: tuple[int, ...]
    src_dims: Dims
    src_pos: tuple[int, ...]
    extent: Dims

    def counts(self) -> tuple[int, int]:
        """Return how many elements dst and src must have."""
        return math.prod(self.dst_dims), math.prod(self.src_dims)

    def offsets(self) -> tuple[int, int]:
        """Return the element at which the box begins in dst and in src."""
        return _offset(self.dst_pos, self.dst_dims), _offset(self.src_pos, self.src_dims)

    def walk(self) -> StridedWalk:
        """Return the simplified walk over the box, from those elements on, in the order of memory.

        The box has elements.
        """
        strides = contiguous_strides(self.src_dims), contiguous_strides(self.dst_dims)
        return StridedWalk(*simplify_walk(self.extent, *strides))

    def check_overlap(self, distance: int, itemsize: int) -> bool:
        """Return whether the boxes, which have elements, lie between each other; ValueError where they share memory.

        distance: how many bytes the buffer of dst lies after that of src.
        This is exact where both boxes are cut from arrays of the same strides. Else boxes count as sharing memory where
        one begins before the other has ended.
        """
        dst_offset, src_offset = self.offsets()
        distance += itemsize * (dst_offset - src_offset)
        walk = self.walk()
        dst_span, src_span = (itemsize * extent(walk.dims, steps) for steps in (walk.dst_strides, walk.src_strides))
        if distance >= src_span or -distance >= dst_span:
            return False
        axes = [*zip(walk.dims, walk.src_strides, strict=True)]
        if walk.src_strides != walk.dst_strides or _meet(distance, axes, itemsize):
            raise ArgumentValueError(
                "dst", "overlaps", Argument("src"), f"in boxes of {self.extent} at {self.dst_pos} and {self.src_pos}"
            )
        return True


def as_box_copy(
    dst_dims: Any, dst_pos: Any, src_dims: Any, src_pos: Any, extent: Any, max_num_dims: int | None
) -> RegionCopy:
    """Check what `Launch` was given; raises what the contract says, naming the argument."""
    most = max_num_dims or 0
    ddims, sdims = as_dims(dst_dims, "dst_dims", most), as_dims(src_dims, "src_dims", most)
    if len(ddims) != len(sdims):
        raise ArgumentValueError(
            "dst_dims", ddims, "and", Argument("src_dims"), sdims, "must have the same number of dims"
        )
    dpos, spos = as_sizes(dst_pos, "dst_pos", ddims), as_sizes(src_pos, "src_pos", sdims)
    sizes = as_sizes(extent, "extent", ddims)
    for side, dims, pos in (("dst", ddims, dpos), ("src", sdims, spos)):
        for axis, (size, begin, length) in enumerate(zip(dims, pos, sizes, strict=True)):
            if begin + length > size:
                raise ArgumentValueError(
                    f"{side}_pos",
                    f"{pos} and",
                    Argument("extent"),
                    f"{sizes} reach outside",
                    Argument(f"{side}_dims"),
                    f"{dims} at axis {axis}: {begin} + {length} is more than {size}",
                )
    return RegionCopy(ddims, dpos, sdims, spos, sizes)


def _offset(pos: Sequence[int], dims: Sequence[int]) -> int:
    offset = 0
    for axis, place in enumerate(pos):
        offset = offset * dims[axis] + place
    return offset


def _meet(distance: int, axes: Sequence[tuple[int, int]], itemsize: int) -> bool:
    """Return whether two boxes of the same sizes and strides, this many bytes apart, share a byte.

    axes: size and stride in elements of each, outermost first. The inner axes together reach less far than the stride
    of the outer one: so only two steps along an axis come near enough to the other box.
    """
    if not axes:
        return abs(distance) < itemsize
    (size, stride), inner = axes[0], axes[1:]
    near = distance // (stride * itemsize)
    return any(
        abs(step) < size and _meet(distance - step * stride * itemsize, inner, itemsize) for step in (near, near + 1)
    )
