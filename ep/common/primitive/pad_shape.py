"""The checked dims and paddings of a ConstantPad, the same on every device."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ep.common.checks import as_dims, as_integers
from ep.common.primitive.broadcast import Dims
from ep.common.primitive.region_copy import RegionCopy
from ep.include.errors import Argument, ArgumentValueError
from ep.include.primitive.primitive import kMaxNumDims


class PadShape(NamedTuple):
    """The dims of src, and the padding of each axis on its two sides: the arguments of `Launch`, as tuples."""

    src_dims: Dims
    padding_before: tuple[int, ...]
    padding_after: tuple[int, ...]

    @property
    def dst_dims(self) -> Dims:
        """The dims of dst."""
        return tuple(map(sum, zip(*self, strict=True)))

    def counts(self) -> tuple[int, int]:
        """Return the numbers of elements of src and dst."""
        return math.prod(self.src_dims), math.prod(self.dst_dims)

    def simplified(self) -> PadShape:
        """Return the same with the fewest axes, at least one: an axis without padding is merged with the one before it.

        `(4, 5, 3, 7)` with 1 before and 2 after axis 1 is `(4, 105)` with 21 before and 42 after.
        """
        kept: list[tuple[int, int, int]] = []
        for size, before, after in zip(*self, strict=True):
            if kept and before == after == 0:
                kept[-1] = (kept[-1][0] * size, kept[-1][1] * size, kept[-1][2] * size)
            elif kept == [(1, 0, 0)]:
                kept = [(size, before, after)]
            else:
                kept.append((size, before, after))
        return PadShape(*zip(*(kept or [(1, 0, 0)]), strict=True))

    def copied(self) -> RegionCopy:
        """Return the box of src that is copied to dst; padding surrounds it. It is empty if dst is padding alone."""
        dst_dims, dst_pos, src_pos, extent = self.dst_dims, [], [], []
        for src_size, dst_size, before in zip(self.src_dims, dst_dims, self.padding_before, strict=True):
            dst_begin = min(before, dst_size) if before > 0 else 0
            src_begin = min(-before, src_size) if before < 0 else 0
            dst_pos.append(dst_begin)
            src_pos.append(src_begin)
            extent.append(min(src_size - src_begin, dst_size - dst_begin))
        return RegionCopy(dst_dims, tuple(dst_pos), self.src_dims, tuple(src_pos), tuple(extent))


def as_pad_shape(src_dims: Any, padding_before: Any, padding_after: Any) -> PadShape:
    """Return the checked arguments of `Launch`. Raises the errors of the contract, which name the argument."""
    dims = as_dims(src_dims, "src_dims", kMaxNumDims)
    before = as_integers(padding_before, "padding_before", dims)
    after = as_integers(padding_after, "padding_after", dims)
    shape = PadShape(dims, before, after)
    for axis, size in enumerate(shape.dst_dims):
        if size < 0:
            raise ArgumentValueError(
                "padding_before",
                f"{before} and",
                Argument("padding_after"),
                f"{after} leave {size} elements of",
                Argument("src_dims"),
                f"{dims} at axis {axis}",
            )
    return shape
