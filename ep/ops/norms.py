"""Normalisations: numbers minus their mean, over the root of their variance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.checks import as_integer, as_truth
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, ArrayLike
from ep.include.number_kind import FLOATS
from ep.include.primitive.structure import kMaxRow
from ep.ops.composition import composition
from ep.ops.declare.function import FUNCTIONS
from ep.ops.joined import joined, note_gradient
from ep.ops.operands import check_real
from ep.ops.shapes import as_axes, check_broadcasts, check_shape
from ep.ops.terms import in_type, viewed

_LEAST_PIECE: Final = 512
"""The fewest elements of the pieces of a row that is too long for a kernel."""


@composition(FLOATS, alike=False)
@joined
def layer_norm(
    x: ArrayLike,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    axis: int | Sequence[int] = -1,
    epsilon: float = 1e-5,
    *,
    return_statistics: bool = False,
) -> Any:
    """Return `(x - mean) / sqrt(variance + epsilon) * weight + bias`, as `torch.nn.functional.layer_norm`.

    x: array of a floating type. weight, bias: arrays of floating types that broadcast to the shape of x; None for none.
    axis: one or several axes, along which mean and variance are taken: the last k for a `normalized_shape` of k sizes.
    epsilon: a number. return_statistics: whether to return the means and 1 over the roots as well, with axes of size 1.

    The result has the shape and dtype of x. All is computed in its dtype, 16-bit numbers in float32; the statistics
    have the dtype of the computation. Raises ValueError for a weight or bias of another shape.
    """
    axes = tuple(sorted(as_axes(axis, "axis", len(x.shape))))
    y, mean, inverse = _normalised(x, axes, weight, bias, epsilon, is_centred=True)
    _note_gradient("layer_norm_grad", y, (mean, inverse), (x, weight, bias), axis=axes)
    return (y, mean, inverse) if as_truth(return_statistics, "return_statistics") else y


@composition(FLOATS, alike=False)
@joined
def rms_norm(
    x: ArrayLike,
    weight: ArrayLike | None = None,
    axis: int | Sequence[int] = -1,
    epsilon: float = 1e-5,
    *,
    return_statistics: bool = False,
) -> Any:
    """Return `x / sqrt(mean(x * x) + epsilon) * weight`, as `torch.nn.functional.rms_norm`.

    x, weight, axis, epsilon: as of `layer_norm`. return_statistics: whether to return 1 over the roots as well.
    """
    axes = tuple(sorted(as_axes(axis, "axis", len(x.shape))))
    y, _, inverse = _normalised(x, axes, weight, None, epsilon, is_centred=False)
    _note_gradient("rms_norm_grad", y, (inverse,), (x, weight), axis=axes)
    return (y, inverse) if as_truth(return_statistics, "return_statistics") else y


@composition(FLOATS, alike=False)
@joined
def group_norm(
    x: ArrayLike,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    *,
    num_groups: int,
    epsilon: float = 1e-5,
    return_statistics: bool = False,
) -> Any:
    """Return x, normalised over each group of channels of each sample, as `torch.nn.functional.group_norm`.

    x: array of a floating type, shape (N, C, ...). weight, bias: arrays of floating types, shape (C,); None for none.
    num_groups: a divisor of C; C itself for an instance norm.
    epsilon: as of `layer_norm`. return_statistics: whether to return the means and 1 over the roots of the variances as
        well, each of shape (N, num_groups).

    Types are as in `layer_norm`.
    """
    grouped = Groups.among(x, num_groups)
    found = _normalised(
        viewed(x, grouped.shape),
        (2, 3),
        grouped.channels(weight, "weight"),
        grouped.channels(bias, "bias"),
        epsilon,
        is_centred=True,
    )
    y, *statistics = (viewed(one, shape) for one, shape in zip(found, (x.shape, *[grouped.shape[:2]] * 2), strict=True))
    _note_gradient("group_norm_grad", y, statistics, (x, weight, bias), num_groups=num_groups)
    return (y, *statistics) if as_truth(return_statistics, "return_statistics") else y


def _note_gradient(
    name: str, y: Any, statistics: Sequence[Any], operands: Sequence[Any], **attributes: Any
) -> None:  # fmt: skip
    """Note that a function computes the gradients by the operands that are given."""
    x, *scales = operands

    def rule(dy: Any) -> list[Any]:
        found = FUNCTIONS[name](dy, x, *statistics, *scales, **attributes)
        return [one for one, operand in zip(found, operands, strict=True) if operand is not None]

    note_gradient(y, [one for one in operands if one is not None], rule)


class Groups(NamedTuple):
    """The groups of channels of an array. shape: samples, groups, channels of a group, places of a channel."""

    shape: tuple[int, int, int, int]

    @classmethod
    def among(cls, x: Array, num_groups: int) -> Groups:
        """Return the groups of x; ValueError for a number of groups that does not divide the channels."""
        if len(x.shape) < 2:
            raise ValueError(f"x has shape {tuple(x.shape)}; it must have two axes at least")
        samples, channels, *sizes = x.shape
        groups = as_integer(num_groups, "num_groups")
        if groups <= 0 or channels % groups:
            raise ValueError(f"num_groups is {groups}; it must be a divisor of the channels of x, {channels}")
        return cls((samples, groups, channels // groups, math.prod(sizes)))

    def channels(self, numbers: Any, name: str) -> Any:
        """Return numbers of channels in a shape that broadcasts to the groups; ValueError for more or fewer."""
        check_shape(name, numbers, (self.shape[1] * self.shape[2],))
        return None if numbers is None else viewed(numbers, (*self.shape[1:3], 1))


class Rows(NamedTuple):
    """How arrays are seen, so that kernels of rows compute means along axes: in two steps if rows are too long.

    shapes: those of x and of arrays that broadcast to it. inner: the axes of the first step. outer: those of the next.
    """

    shapes: Sequence[Dims]
    inner: Dims
    outer: Dims

    @classmethod
    def of_shapes(cls, axes: Dims, shape: Dims, *others: Dims) -> Rows:
        """Return how arrays are seen.

        axes: those of the means, in order. shape: that of x. others: shapes that broadcast to it.
        """
        first = len(shape) - len(axes)
        shapes: list[Dims] = [(1,) * (len(shape) - len(one)) + tuple(one) for one in (shape, *others)]
        if 0 in shape or not axes or axes != tuple(range(first, len(shape))):
            return cls(shapes, axes, ())
        if all(one[first:] == shapes[0][first:] or math.prod(one[first:]) == 1 for one in shapes):
            shapes = [(*one[:first], math.prod(one[first:])) for one in shapes]
        row = shapes[0][-1]
        piece = _piece(row)
        if piece < row:
            pieces = {row: (row // piece, piece), 1: (1, 1)}
            shapes = [(*one[:-1], *pieces[one[-1]]) for one in shapes]
        last = len(shapes[0]) - 1
        return cls(shapes, (last,), tuple(range(first, last)))

    def as_rows(self, x: Any) -> Any:
        """Return results of the first step as rows of the second one, which a kernel takes."""
        return viewed(x, (*x.shape[: self.outer[0]], math.prod(x.shape[one] for one in self.outer)))

    def after(self, x: Any) -> Any:
        """Return means along all axes, in any shape, with the axes of the arrays, those of both steps of size 1."""
        gone = {*self.outer, *self.inner}
        kept = tuple(1 if axis in gone else size for axis, size in enumerate(self.shapes[0]))
        return x if tuple(x.shape) == kept else viewed(x, kept)

    def mean(self, x: Any) -> Any:
        """Return the means along all axes, each an axis of size 1."""
        found = FUNCTIONS["mean"](x, self.inner, keepdims=True)
        return self.after(FUNCTIONS["mean"](self.as_rows(found), -1, keepdims=True)) if self.outer else found


def _piece(row: int) -> int:
    """Return the length of equal pieces of a row that a kernel takes; that of the row if there are none."""
    least = -(-row // kMaxRow)
    most = max(row // _LEAST_PIECE, 1)
    return next((row // parts for parts in range(least, most + 1) if row % parts == 0), row)


def computed_in(x: Array) -> np.dtype[Any]:
    """Return the dtype in which x is normalised."""
    return x.dtype if x.dtype.itemsize > 2 else np.dtype(np.float32)


def _normalised(
    x: Any, axes: Dims, weight: Any, bias: Any, epsilon: Any, *, is_centred: bool
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return x, normalised along axes; its means, None if it is not centred; and 1 over the roots.

    Means are rounded: the differences from them have a mean, too, which may be as large as they are, and is subtracted.
    Its square is at most half of the mean of their squares: both are multiples of the last place of a number, of which
    the mean has lost half at most. So their difference is as exact.
    """
    check_real(epsilon, "epsilon")
    scales = {"weight": weight, "bias": bias}
    scales = {name: one for name, one in scales.items() if one is not None}
    for name, one in scales.items():
        check_broadcasts(name, one, x.shape)
    # the rows of means may be longer than those that share a factor
    long, rows = (Rows.of_shapes(axes, x.shape, *(one.shape for one in each)) for each in ((), scales.values()))
    kept, dtype, wide = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape)), x.dtype, computed_in(x)
    shape, (seen, *others) = x.shape, rows.shapes
    whole = in_type(viewed(x, long.shapes[0]), wide)
    x = whole if long.shapes[0] == seen else in_type(viewed(x, seen), wide)
    mul, sub, add = (FUNCTIONS[name] for name in ("mul", "sub", "add"))
    mean = None
    if is_centred:
        first = FUNCTIONS["mean"](whole, long.inner, keepdims=True)
        rest = sub(whole, first)
        more, squares = (FUNCTIONS["mean"](one, long.inner, keepdims=True) for one in (rest, mul(rest, rest)))
        squares, mean = sub(squares, mul(more, more)), first
        if long.outer:  # the squares of differences from the mean, by those from the means of pieces
            first, more, squares = map(long.as_rows, (first, more, squares))
            mean = FUNCTIONS["mean"](first, -1, keepdims=True)
            between = add(sub(first, mean), more)
            more = FUNCTIONS["mean"](between, -1, keepdims=True)
            between = sub(between, more)
            squares = FUNCTIONS["mean"](add(squares, mul(between, between)), -1, keepdims=True)
        mean, more = map(rows.after, (mean, more))
        rest = sub(sub(x, mean), more)
        mean = viewed(mean, kept)
    else:
        rest, squares = x, long.mean(mul(whole, whole))
    inverse = rows.after(FUNCTIONS["rsqrt"](add(squares, epsilon)))
    y = mul(rest, inverse)
    for (name, one), as_rows in zip(scales.items(), others, strict=True):
        y = (mul if name == "weight" else add)(y, in_type(viewed(one, as_rows), wide))
    return viewed(in_type(y, dtype), shape), mean, viewed(inverse, kept)
