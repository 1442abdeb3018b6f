"""The checked dims and strides of an Expand, the same on every device."""

from __future__ import annotations

from typing import Any, NamedTuple

from ep.common.checks import as_dims, as_strides
from ep.common.primitive.broadcast import Dims, StridedWalk, check_expands, simplify_strided
from ep.common.primitive.strides import contiguous_strides, expanded_strides, extent, writes_once
from ep.include.errors import Argument, ArgumentValueError


class ExpandShape(NamedTuple):
    """Dims, and the strides of both sides in elements; contiguous ones if none were given.

    key: dims and strides, the arguments of `Launch`, as tuples.
    """

    src_dims: Dims
    src_strides: tuple[int, ...]
    dst_dims: Dims
    dst_strides: tuple[int, ...]
    key: tuple[Dims, Dims, Dims | None, Dims | None]

    def counts(self) -> tuple[int, int]:
        """Return the least numbers of elements of src and dst; 0 for both if dst is empty."""
        if 0 in self.dst_dims:
            return 0, 0
        return extent(self.src_dims, self.src_strides), extent(self.dst_dims, self.dst_strides)

    def walk(self) -> StridedWalk:
        """Return the simplified walk over the elements of dst, which is not empty."""
        src_steps = expanded_strides(self.src_dims, self.src_strides, len(self.dst_dims))
        return simplify_strided(self.dst_dims, src_steps, self.dst_strides)


def as_expand_shape(
    src_dims: Any, dst_dims: Any, src_strides: Any, dst_strides: Any, max_num_dims: int | None
) -> ExpandShape:
    """Return the checked arguments of `Launch`. Raises the errors of the contract, which name the argument."""
    most = max_num_dims or 0
    sdims, ddims = as_dims(src_dims, "src_dims", most), as_dims(dst_dims, "dst_dims", most)
    check_expands(sdims, ddims)
    given = (
        None if src_strides is None else as_strides(src_strides, "src_strides", sdims),
        None if dst_strides is None else as_strides(dst_strides, "dst_strides", ddims),
    )
    sstrides, dstrides = given[0] or contiguous_strides(sdims), given[1] or contiguous_strides(ddims)
    if not writes_once(ddims, dstrides):
        raise ArgumentValueError(
            "dst_strides", dstrides, "let elements of", Argument("dst_dims"), ddims, "share a place"
        )
    return ExpandShape(sdims, sstrides, ddims, dstrides, (sdims, ddims, *given))
