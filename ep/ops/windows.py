"""Windows of an array along its spatial axes: how many there are, where they lie, and which of them a rank has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.strides import contiguous_strides
from ep.sbp import Sbp, Split, piece_sizes, span


class Windows(NamedTuple):
    """Where windows lie along the spatial axes of an array.

    sizes: of the axes. kernel: the places of a window.
    before, after: what is added around the array; negative ones take elements away.
    """

    sizes: Dims
    kernel: Dims
    strides: Dims
    before: Dims
    after: Dims
    dilations: Dims

    @property
    def padded(self) -> Dims:
        """The sizes with what is added."""
        return tuple(map(sum, zip(self.sizes, self.before, self.after, strict=True)))

    @property
    def counts(self) -> Dims:
        """How many windows there are along each axis; none where a window is larger than all that there is."""
        spans = (far * (places - 1) + 1 for far, places in zip(self.dilations, self.kernel, strict=True))
        each = zip(self.padded, spans, self.strides, strict=True)
        return tuple(max(0, (size - spanned) // stride + 1) for size, spanned, stride in each)

    @property
    def is_whole(self) -> bool:
        """Whether the windows are the elements themselves, each once and in order."""
        return {1}.issuperset(self.kernel) and {1}.issuperset(self.strides)

    def walk(self, planes: Dims) -> Dims:
        """The strides in padded planes of a view with the planes' axes, then those of a window, then those of all."""
        strides = contiguous_strides((*planes, *self.padded))
        of_planes, of_places = strides[: len(planes)], strides[len(planes) :]
        steps = (*self.dilations, *self.strides)
        return (*of_planes, *(step * stride for step, stride in zip(steps, of_places * 2, strict=True)))

    def ranges(self, axis: int, places: Sequence[Sbp], ranks: int, rank: int) -> list[range]:
        """What a rank has along an axis of the array, of its windows, and of the places of each.

        places: how the array, what has a window for each element, and what has a place for each lie.
        """
        found = []
        for size, place in zip((self.sizes[axis], self.counts[axis], self.kernel[axis]), places, strict=True):
            found.append(range(*span(size, ranks, rank)) if place == Split(axis + 2) else range(size))
        return found

    def are_in(self, axis: int, piece: range, counts: range, places: range) -> bool:
        """Whether the windows at `counts`, of which each has `places` alone, lie in a piece of the array.

        What is beyond the array is added to the piece, too.
        """
        if not counts or not places:
            return True
        first, last = (
            counts[end] * self.strides[axis] + places[end] * self.dilations[axis] - self.before[axis] for end in (0, -1)
        )
        return (first >= piece.start or piece.start == 0) and (last < piece.stop or piece.stop == self.sizes[axis])

    def pads_of(self, axis: int, piece: range, counts: range, places: range) -> tuple[int, int]:
        """What is added to a piece of the array for its windows to be those at `counts`, of `places` alone."""
        stride, dilation = self.strides[axis], self.dilations[axis]
        before = self.before[axis] + piece.start - counts.start * stride - places.start * dilation
        read = (len(counts) - 1) * stride + (len(places) - 1) * dilation + 1
        return before, read - len(piece) - before

    def local_pads(self, places: Sequence[Sbp], ranks: int, rank: int) -> Dims:
        """The attribute `pads` with which a rank works, where the three of `ranges` lie at `places`."""
        each = [self.pads_of(axis, *self.ranges(axis, places, ranks, rank)) for axis in range(len(self.sizes))]
        return tuple(before for before, _ in each) + tuple(after for _, after in each)


def windows(of_x: Dims, of_w: Dims, attributes: Any) -> Windows:
    """Return where the windows of a convolution lie, for the shapes of x and w."""
    pads, num_axes = attributes["pads"], len(of_x) - 2
    around = pads[:num_axes], pads[num_axes:]
    return Windows(tuple(of_x[2:]), tuple(of_w[2:]), attributes["strides"], *around, attributes["dilations"])


def groups_of_pieces(groups: int, sizes: Sequence[int], ranks: int) -> list[int]:
    """Return how many groups each rank has where axes of `sizes` are split; none where a group would be cut."""
    found = piece_sizes(groups, ranks)
    whole = all([number * (size // groups) for number in found] == piece_sizes(size, ranks) for size in sizes)
    return found if whole else []
