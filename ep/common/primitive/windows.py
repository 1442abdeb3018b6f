"""Windows of an array along its last axes: their number and their places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import Final, NamedTuple

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.strides import contiguous_strides
from ep.include.primitive.plane_windows import PlaneWindows
from ep.include.primitive.structure import Convolution, MaxPool
from ep.include.primitive.window_map import WindowMap

_LACKING: Final = PlaneWindows(1, (1,), (1,), (1,), (1,), (0,), (1,))
"""The windows along an axis that planes lack."""

_FEW_FILTERS: Final = 4
"""The most filters of one channel for which a sum for each filter is not slower than a matrix product."""


class Windows(NamedTuple):
    """The windows along the spatial axes of an array.

    sizes: of the axes. kernel: the places of a window.
    before, after: the padding around the array; negative numbers remove elements.
    """

    sizes: Dims
    kernel: Dims
    strides: Dims
    before: Dims
    after: Dims
    dilations: Dims

    @property
    def spans(self) -> Dims:
        """The number of elements from the first of a window to its last, both counted."""
        return tuple(far * (places - 1) + 1 for far, places in zip(self.dilations, self.kernel, strict=True))

    @property
    def reach(self) -> Dims:
        """The number of padded elements up to the last one of the last window; 0 if there is no window."""
        each = zip(self.counts, self.strides, self.spans, strict=True)
        return tuple((count - 1) * stride + spanned if count else 0 for count, stride, spanned in each)

    @property
    def padded(self) -> Dims:
        """The sizes with padding."""
        return tuple(map(sum, zip(self.sizes, self.before, self.after, strict=True)))

    @property
    def counts(self) -> Dims:
        """The number of windows along each axis; none if a window is larger than the padded array."""
        each = zip(self.padded, self.spans, self.strides, strict=True)
        return tuple(max(0, (size - spanned) // stride + 1) for size, spanned, stride in each)

    def taps(self, axis: int) -> list[slice]:
        """Return a slice of a padded axis for each place of a window: the elements that all windows have there."""
        far, stride, count = self.dilations[axis], self.strides[axis], self.counts[axis]
        begins = [at * far for at in range(self.kernel[axis])]
        return [slice(begin, begin + (count - 1) * stride + 1, stride) for begin in begins]

    def meet(self, axis: int) -> bool:
        """Whether windows overlap along an axis: they do not if each begins after the end of the one before.

        Nor do they overlap if all of them are between two places of the first one.
        """
        stride, dilation, places, count = (
            one[axis] for one in (self.strides, self.dilations, self.kernel, self.counts)
        )
        return places > 1 and count > 1 and stride <= dilation * (places - 1) and dilation <= stride * (count - 1)

    @property
    def is_split(self) -> bool:
        """Whether each element is in exactly one window: windows are adjacent, as parts of divided axes are."""
        side_by_side = self.strides == self.kernel and {1}.issuperset(self.dilations)
        return side_by_side and self.padded == tuple(map(mul, self.counts, self.kernel))

    def along(self, axis: int, sizes: Dims) -> Windows:
        """Return the windows along one axis alone, of an array that is padded already and has `sizes`."""
        ones, nothing = (1,) * len(sizes), (0,) * len(sizes)
        kernel, strides, dilations = (
            (*ones[:axis], one[axis], *ones[axis + 1 :]) for one in (self.kernel, self.strides, self.dilations)
        )
        return Windows(sizes, kernel, strides, nothing, nothing, dilations)

    def are_within(self, box: Sequence[tuple[int, int]]) -> bool:
        """Whether all windows are within a box, given as its begin and end along each axis of the array."""
        each = zip(box, self.before, self.reach, strict=True)
        return all(begin <= -before and reach - before <= end for (begin, end), before, reach in each)

    def cut_to(self, box: Sequence[tuple[int, int]]) -> Windows:
        """Return the same windows of the part of a box that is in the padded array."""
        begins, sizes = [], []
        for (begin, end), before, padded in zip(box, self.before, self.padded, strict=True):
            begins.append(max(0, begin + before))
            sizes.append(max(0, min(end + before, padded) - begins[-1]))
        after = tuple(padded - begin - size for padded, begin, size in zip(self.padded, begins, sizes, strict=True))
        return self._replace(sizes=tuple(sizes), before=tuple(begins), after=after)

    def of_padded(self) -> Windows:
        """Return the same windows of the array that has been padded."""
        nothing = (0,) * len(self.sizes)
        return self._replace(sizes=self.padded, before=nothing, after=nothing)

    def beyond(self) -> Windows:
        """Return windows that may reach beyond the padded array: every one that begins before the end of the array."""
        after = []
        for axis, size in enumerate(self.sizes):
            padded, begin, stride = self.padded[axis], self.before[axis] + size, self.strides[axis]
            count = max(0, min(-(-(padded - self.spans[axis]) // stride) + 1, -(-begin // stride)))
            after.append((count - 1) * stride + self.spans[axis] - begin)
        return self._replace(after=tuple(after))

    @property
    def are_filled(self) -> bool:
        """Whether each window has an element of the array itself."""
        for axis, size in enumerate(self.sizes):
            for window in range(self.counts[axis]):
                first = window * self.strides[axis] - self.before[axis]
                skipped = max(0, -(first // self.dilations[axis]))  # the places before the first element
                if skipped >= self.kernel[axis] or first + skipped * self.dilations[axis] >= size:
                    return False
        return True

    @property
    def is_whole(self) -> bool:
        """Whether the windows are the elements themselves, each once and in order."""
        return {1}.issuperset(self.kernel) and {1}.issuperset(self.strides)

    @property
    def is_partition(self) -> bool:
        """Whether each element of the array itself is in one window, and windows have several places."""
        return self.is_split and not self.has_padding and not self.is_whole

    def walk(self, planes: Dims) -> Dims:
        """Return the strides in padded planes of a view with the axes of planes, of a window, then of the counts."""
        strides = contiguous_strides((*planes, *self.padded))
        of_planes, of_places = strides[: len(planes)], strides[len(planes) :]
        steps = (*self.dilations, *self.strides)
        return (*of_planes, *(step * stride for step, stride in zip(steps, of_places * 2, strict=True)))

    def in_planes(self, number: int) -> PlaneWindows:
        """Return the windows of a number of planes, each of which has the sizes; no size and no count must be 0.

        Along an axis with one window, the stride is 1.
        """
        strides = tuple(stride if count > 1 else 1 for stride, count in zip(self.strides, self.counts, strict=True))
        return PlaneWindows(number, self.sizes, self.counts, self.kernel, strides, self.before, self.dilations)

    @property
    def has_padding(self) -> bool:
        """Whether elements are added around the array, or removed."""
        return any(self.before) or any(self.after)

    def map_of(self, planes: Dims, *, joined: bool) -> WindowMap:
        """Return the positions of the windows in planes (batch, groups, channels): a matrix for each group.

        It has a row for each channel and place, and a column for each window.
        joined: whether the matrices of the batch are one, side by side; they are an axis of the map's batch if not.
        """
        plane = math.prod(self.sizes)
        of_places = contiguous_strides(self.sizes)
        rows, columns = np.arange(planes[2], dtype=np.int64) * plane, np.zeros(1, np.int64)
        inside = None if self.are_within([(0, size) for size in self.sizes]) else np.ones((1, 1), np.bool_)
        for axis, stride in enumerate(of_places):
            places = np.arange(self.kernel[axis], dtype=np.int64) * self.dilations[axis] - self.before[axis]
            starts = np.arange(self.counts[axis], dtype=np.int64) * self.strides[axis]
            if inside is not None:
                found = (starts >= -places[:, np.newaxis]) & (starts < self.sizes[axis] - places[:, np.newaxis])
                inside = np.einsum("ij,kl->ikjl", inside, found).reshape(len(inside) * len(places), -1)
            rows = np.add.outer(rows, places * stride).reshape(-1)
            columns = np.add.outer(columns, starts * stride).reshape(-1)
        strides: Dims = planes[1] * planes[2] * plane, planes[2] * plane
        if joined:
            columns = np.add.outer(np.arange(planes[0], dtype=np.int64) * strides[0], columns).reshape(-1)
            strides, inside = strides[1:], None if inside is None else np.tile(inside, planes[0])
        size = math.prod(planes) * plane
        return WindowMap(rows, columns, self.strides[-1], size, strides, inside)


def windows_of(op: Convolution, of_x: Dims, of_w: Dims) -> Windows:
    """Return the windows of x of a convolution."""
    num_axes = len(op.strides)
    return Windows(of_x[2:], of_w[2:], op.strides, op.pads[:num_axes], op.pads[num_axes:], op.dilations)


def windows_of_pool(op: MaxPool, of_x: Dims) -> Windows:
    """Return the windows of x of which the largest elements are taken."""
    num_axes = len(op.kernel)
    return Windows(of_x[2:], op.kernel, op.strides, op.pads[:num_axes], op.pads[num_axes:], op.dilations)


def is_depthwise(of_w: Dims, groups: int) -> bool:
    """Return whether each channel has a few filters of its own: a convolution with such a w is no matrix product."""
    return groups > 1 and of_w[1] == 1 and of_w[0] <= _FEW_FILTERS * groups


def along_axes(windows: PlaneWindows, num_axes: int) -> PlaneWindows:
    """Return the same windows along `num_axes` axes, as many as they have or more: the first ones have one element."""
    more = num_axes - len(windows.sizes)
    fields = zip(_LACKING[1:], windows[1:], strict=True)
    return PlaneWindows(windows.planes, *(lacking * more + given for lacking, given in fields))
