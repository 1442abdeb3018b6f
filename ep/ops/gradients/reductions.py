"""The gradients of reductions, of scans, of the softmaxes and of segment_sum."""

from __future__ import annotations

import math
from typing import Any, Final

from ep.ops.gradients.vjp import (
    Backward,
    Gradients,
    call,
    computed,
    conjugated,
    gradient_of,
    in_type,
    ones_like,
    over_size,
    unselected,
    wide,
)
from ep.ops.shaped import viewed


def _kept(back: Backward, of: Any) -> Any:
    """Return a result with the reduced axes as axes of size 1, except leading ones, which broadcasting adds."""
    axes, shape = back.attributes["axes"], back.inputs[0].shape
    first = next((axis for axis in range(len(shape)) if axis not in axes), len(shape))
    if not back.attributes["keepdims"] and axes == tuple(range(first)):
        return of
    return viewed(of, [1 if axis in axes else size for axis, size in enumerate(shape)])


def _spread(back: Backward, of: Any) -> Any:
    """Return a result in the type of x, expanded to its shape."""
    (x,) = back.inputs
    return call("expand")(_kept(back, in_type(of, x.dtype)), x.shape)


@gradient_of("sum")
def _sum(back: Backward) -> Gradients:
    return [_spread(back, back.dy)]


@gradient_of("mean")
def _mean(back: Backward) -> Gradients:
    count = math.prod(back.inputs[0].shape[axis] for axis in back.attributes["axes"])
    return [_spread(back, over_size(wide(back.dy), max(count, 1)))]


@gradient_of("prod")
def _prod(back: Backward) -> Gradients:
    """Return dy times the product of the other elements; each axis continues with the product over those before it."""
    (x,) = back.inputs
    left = wide(in_type(x, back.dy.dtype))
    others = ones_like(left)
    for axis in back.attributes["axes"]:
        others = call("mul")(others, _others(left, axis))
        left = call("prod")(left, axis, keepdims=True)
    return [in_type(call("mul")(_kept(back, wide(back.dy)), conjugated(others)), x.dtype)]


def _others(x: Any, axis: int) -> Any:
    """Return, for each element, the product of the other elements along an axis.

    The halves of the axis are multiplied recursively until one element is left; when the recursion returns, each
    half is multiplied by the other half. There is no division, which would fail with a zero or a product out of range.
    """
    size = x.shape[axis]
    if size < 2:
        return ones_like(x)
    odd = size % 2
    before, after = ([(0, by if at == axis else 0) for at in range(len(x.shape))] for by in (odd, -odd))
    first, second = call("split")(call("pad")(x, before, constant_values=1), 2, axis)
    rest = _others(call("mul")(first, second), axis)
    both = [call("mul")(rest, second), call("mul")(rest, first)]
    return call("pad")(call("concat")(both, axis), after)


@gradient_of("max", "min")
def _largest(back: Backward) -> Gradients:
    """Divide the gradient among the elements that are equal to the result; a NaN result makes it NaN everywhere."""
    (x,) = back.inputs
    found = call("equal")(x, _kept(back, back.output))
    count = call("sum")(found, back.attributes["axes"], dtype="float64", keepdims=True)
    share = call("div")(_kept(back, wide(back.dy)), count)
    others = _kept(back, call("add")(unselected(back.dy), unselected(back.output)))
    return [call("where")(found, in_type(share, x.dtype), others)]


@gradient_of("max_pool")
def _max_pool(back: Backward) -> Gradients:
    """Divide the gradient among the elements of a window equal to its result; the NaN in padding equals none.

    A NaN result makes the gradient NaN in all of its window.
    """
    (x,), (kernel, strides, pads, dilations) = back.inputs, (back.attributes[name] for name in _WINDOWS)
    num_axes, padded = len(kernel), x
    if any(pads):
        around = [(pads[axis], pads[axis + num_axes]) for axis in range(num_axes)]
        padded = call("pad")(x, [(0, 0), (0, 0), *around], constant_values=math.nan)
    written = call("unfold")(padded, kernel, strides, 0, dilations)
    found = call("equal")(written, _of_windows(back.output, num_axes))
    count = call("sum")(found, tuple(range(2, num_axes + 2)), dtype="float64", keepdims=True)
    share = call("div")(_of_windows(wide(back.dy), num_axes), count)
    others = _of_windows(call("add")(unselected(back.dy), unselected(back.output)), num_axes)
    placed = call("where")(found, in_type(share, x.dtype), others)
    return [call("fold")(placed, tuple(x.shape[2:]), strides, pads, dilations)]


@gradient_of("average_pool")
def _average_pool(back: Backward) -> Gradients:
    given = {**back.attributes, "shape": tuple(back.inputs[0].shape)}
    return [computed("average_pool_grad", back.dy, given)]


@gradient_of("average_pool_grad")
def _average_pool_grad(back: Backward) -> Gradients:
    given = {name: value for name, value in back.attributes.items() if name != "shape"}
    return [computed("average_pool", back.dy, given)]


_WINDOWS: Final = ("kernel", "strides", "pads", "dilations")


def _of_windows(of: Any, num_axes: int) -> Any:
    """Return a result seen with an axis of size 1 for each axis of a window."""
    return viewed(of, (*of.shape[:2], *(1,) * num_axes, *of.shape[2:]))


@gradient_of("cumulative_sum")
def _cumulative_sum(back: Backward) -> Gradients:
    """Return the sums of dy from each element on: these results contain it."""
    (x,), axis, reverse = back.inputs, back.attributes["axis"], back.attributes["reverse"]
    total = call("cumulative_sum")(_without_initial(back), axis, reverse=not reverse)
    return [in_type(total, x.dtype)]


@gradient_of("cumulative_prod")
def _cumulative_prod(back: Backward) -> Gradients:
    """Return the product of the elements before each one, times a sum over the results that contain it.

    The sum of element n is dy[n] + x[n + 1] times that of element n + 1. It is computed for 2, then 4, then 8 elements,
    with the products of as many. There is no division, which would fail with a zero.
    """
    (x,), axis, reverse = back.inputs, back.attributes["axis"], back.attributes["reverse"]
    elements, total = conjugated(wide(in_type(x, back.dy.dtype))), wide(_without_initial(back))

    def moved(of: Any, by: int, value: int) -> Any:
        """Return what is `by` elements later; earlier for a negative number."""
        by = -by if reverse else by
        return call("pad")(
            of, [(-by, by) if at == axis else (0, 0) for at in range(len(x.shape))], constant_values=value
        )

    factors, by = moved(elements, 1, 0), 1
    before = call("cumulative_prod")(moved(elements, -1, 1), axis, reverse=reverse) if x.size else elements
    while by < x.shape[axis]:
        total = call("add")(total, call("mul")(factors, moved(total, by, 0)))
        factors, by = call("mul")(factors, moved(factors, by, 0)), 2 * by
    return [in_type(call("mul")(before, total), x.dtype)]


def _without_initial(back: Backward) -> Any:
    """Return the gradient by all results but the initial 0 or 1."""
    if not back.attributes["include_initial"]:
        return back.dy
    axis, ends = back.attributes["axis"], (0, -1) if back.attributes["reverse"] else (-1, 0)
    return call("pad")(back.dy, [ends if at == axis else (0, 0) for at in range(len(back.dy.shape))])


@gradient_of("softmax")
def _softmax(back: Backward) -> Gradients:
    return [call("softmax_grad")(dy=back.dy, y=back.output, axis=back.attributes["axis"])]


@gradient_of("log_softmax")
def _log_softmax(back: Backward) -> Gradients:
    return [call("log_softmax_grad")(dy=back.dy, y=back.output, axis=back.attributes["axis"])]


@gradient_of("segment_sum")
def _segment_sum(back: Backward) -> Gradients:
    _, ids = back.inputs
    return [call("gather")(back.dy, ids, back.attributes["axis"], mode="zero"), None]
