"""The checked boxes of a CopyNd, the same on every device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ep.common.checks import as_dims, as_sizes
from ep.common.primitive.broadcast import Dims, StridedWalk, simplify_walk
from ep.common.primitive.strides import contiguous_strides, extent
from ep.include.errors import Argument, ArgumentValueError


class RegionCopy(NamedTuple):
    """The dims of two arrays, the position of a box in each, and its sizes: the arguments of `Launch`, as tuples."""

    dst_dims: Dims
    dst_pos: tuple[int, ...]
    src_dims: Dims
    src_pos: tuple[int, ...]
    extent: Dims

    def counts(self) -> tuple[int, int]:
        """Return the least numbers of elements of dst and src."""
        return math.prod(self.dst_dims), math.prod(self.src_dims)

    def offsets(self) -> tuple[int, int]:
        """Return the offsets, in elements, of the box in dst and in src."""
        return _offset(self.dst_pos, self.dst_dims), _offset(self.src_pos, self.src_dims)

    def walk(self) -> StridedWalk:
        """Return the simplified walk over the box, which is not empty, from its first element on in memory order."""
        strides = contiguous_strides(self.src_dims), contiguous_strides(self.dst_dims)
        return StridedWalk(*simplify_walk(self.extent, *strides))

    def check_overlap(self, distance: int, itemsize: int) -> bool:
        """Return whether the boxes, which are not empty, interleave. Raises ValueError if they share memory.

        distance: the bytes from the buffer of src to that of dst.
        The check is exact if both boxes are cut from arrays of the same strides. Otherwise boxes count as sharing
        memory if one begins before the other ends.
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
    """Return the checked arguments of `Launch`. Raises the errors of the contract, which name the argument."""
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
    """Return whether two boxes of the same sizes and strides, `distance` bytes apart, share a byte.

    axes: size and stride in elements of each axis, outermost first. The inner axes together span less than the stride
        of the outer one, so only two steps along an axis come near enough to the other box.
    """
    if not axes:
        return abs(distance) < itemsize
    (size, stride), inner = axes[0], axes[1:]
    near = distance // (stride * itemsize)
    return any(
        abs(step) < size and _meet(distance - step * stride * itemsize, inner, itemsize) for step in (near, near + 1)
    )
