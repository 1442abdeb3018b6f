"""The attributes of operators on windows, and the windows that each rank has."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final

from ep.common.checks import are_several, as_integer, integers_in, kMaxSize
from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import Windows
from ep.sbp import Sbp, Split, piece_sizes, span

MOST_SPATIAL: Final = 3
"""The most spatial axes. Windows have two axes for each, one for the batch and one for the channels: 8 in all."""


class PlacedWindows(Windows):
    """Windows of an array, and those that each rank has."""

    def ranges(self, axis: int, places: Sequence[Sbp], ranks: int, rank: int) -> list[range]:
        """Return the ranges that a rank has of the array, of its windows and of their places, along an axis.

        places: the SBPs of the array, of an array with an element for each window, and of one with an element for each
            place.
        """
        found = []
        for size, place in zip((self.sizes[axis], self.counts[axis], self.kernel[axis]), places, strict=True):
            found.append(range(*span(size, ranks, rank)) if place == Split(axis + 2) else range(size))
        return found

    def are_in(self, axis: int, piece: range, counts: range, places: range) -> bool:
        """Whether the windows at `counts`, with only `places` of each, are in a piece of the array.

        A piece at the end of the array includes the padding there.
        """
        if not counts or not places:
            return True
        first, last = (
            counts[end] * self.strides[axis] + places[end] * self.dilations[axis] - self.before[axis] for end in (0, -1)
        )
        return (first >= piece.start or piece.start == 0) and (last < piece.stop or piece.stop == self.sizes[axis])

    def stay(self, axis: int, places: Sequence[Sbp], ranks: int) -> bool:
        """Whether each rank's windows are in its piece of the array, with the three SBPs `places` as in `ranges`."""
        return all(self.are_in(axis, *self.ranges(axis, places, ranks, rank)) for rank in range(ranks))

    def divide(self, axis: int, ranks: int) -> bool:
        """Whether the elements of each window along an axis are all of one rank, whose piece of the array has them."""
        size, ends = self.sizes[axis], [span(self.sizes[axis], ranks, rank)[1] for rank in range(ranks)]
        for window in range(self.counts[axis]):
            begin = window * self.strides[axis] - self.before[axis]
            places = (begin + far * self.dilations[axis] for far in range(self.kernel[axis]))
            if len({bisect_right(ends, place) for place in places if 0 <= place < size}) > 1:
                return False
        return True

    def pads_of(self, axis: int, piece: range, counts: range, places: range) -> tuple[int, int]:
        """Return the padding with which a piece of the array has the windows at `counts`, only `places` of each."""
        stride, dilation = self.strides[axis], self.dilations[axis]
        before = self.before[axis] + piece.start - counts.start * stride - places.start * dilation
        read = (len(counts) - 1) * stride + (len(places) - 1) * dilation + 1
        return before, read - len(piece) - before

    def local_pads(self, places: Sequence[Sbp], ranks: int, rank: int) -> Dims:
        """Return the attribute `pads` with which a rank works, with the three SBPs `places` as in `ranges`."""
        each = [self.pads_of(axis, *self.ranges(axis, places, ranks, rank)) for axis in range(len(self.sizes))]
        return tuple(before for before, _ in each) + tuple(after for _, after in each)


def windows(sizes: Dims, kernel: Dims, attributes: Any) -> PlacedWindows:
    """Return the windows along axes of `sizes`, by the attributes strides, pads and dilations."""
    pads, num_axes = attributes["pads"], len(sizes)
    around = pads[:num_axes], pads[num_axes:]
    return PlacedWindows(tuple(sizes), tuple(kernel), attributes["strides"], *around, attributes["dilations"])


def num_spatial(of_x: Dims) -> int:
    """Return the number of spatial axes of x; ValueError if there are none, or too many."""
    num_axes = len(of_x) - 2
    if not 1 <= num_axes <= MOST_SPATIAL:
        raise ValueError(
            f"x has shape {of_x}; it must have a batch axis, one of channels, and 1 to {MOST_SPATIAL} spatial axes"
        )
    return num_axes


def for_each(given: Any, name: str, length: int, least: int | None) -> Dims:
    """Return `length` integers >= `least`, given one by one or as one for all."""
    values = integers_in(given, name) if are_several(given) else (as_integer(given, name),) * length
    if len(values) != length:
        raise ValueError(f"{name} has {len(values)} values; it must be one integer, or {length} of them")
    for place, value in enumerate(values):
        if least is not None and value < least:
            raise ValueError(f"{name}[{place}] is {value}; it must be {least} at least")
        if abs(value) > kMaxSize:
            raise ValueError(f"{name}[{place}] is {value}; it must be within 2**63 of 0")
    return values


def in_steps(strides: Any, pads: Any, dilations: Any, num_axes: int, least_pad: int | None = 0) -> dict[str, Dims]:
    """Return the resolved attributes strides, pads and dilations. least_pad: None if pads may be negative."""
    return {
        "strides": for_each(strides, "strides", num_axes, least=1),
        "pads": for_each(pads, "pads", 2 * num_axes, least=least_pad),
        "dilations": for_each(dilations, "dilations", num_axes, least=1),
    }


def groups_of_pieces(groups: int, sizes: Sequence[int], ranks: int) -> list[int]:
    """Return the number of groups of each rank if axes of `sizes` are split; empty if a group would be cut."""
    found = piece_sizes(groups, ranks)
    whole = all([number * (size // groups) for number in found] == piece_sizes(size, ranks) for size in sizes)
    return found if whole else []
